//! The page daemon by two lists of pages (rule 18 of `docs/spec/memory.md`; Talluri 1995, section
//! 6.3.5, for victims that complete free blocks).

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// The oldest inactive pages among which a victim is chosen.
const MOST_COMPARED: usize = 64;

/// Clean pages of a file in a small memory, which one process maps. No page is in a superpage or in
/// a reservation.
#[derive(Clone, Debug)]
pub struct VictimMemory {
    /// The frames of memory, and those that page tables take.
    frames: u64,
    wired: BTreeSet<u64>,
    /// The frames of a block.
    block: u64,
    /// The page leaves whose block of frames has most free frames.
    completes_blocks: bool,
    /// The frame of each resident page.
    resident: BTreeMap<u64, u64>,
    /// Pages in order of age, the oldest first.
    active: Vec<u64>,
    inactive: Vec<u64>,
    referenced: BTreeSet<u64>,
    /// The pages that left, in order.
    pub left: Vec<u64>,
}

impl VictimMemory {
    /// Memory without pages.
    pub fn new(frames: u64, wired: BTreeSet<u64>, block: u64, completes_blocks: bool) -> Self {
        Self {
            frames,
            wired,
            block,
            completes_blocks,
            resident: BTreeMap::new(),
            active: Vec::new(),
            inactive: Vec::new(),
            referenced: BTreeSet::new(),
            left: Vec::new(),
        }
    }

    /// The frame of each resident page.
    pub const fn resident(&self) -> &BTreeMap<u64, u64> {
        &self.resident
    }

    /// Refers to a page. A page that was not resident gets `frame`. The daemon works before a
    /// reference that faults, or that sets a reference bit.
    pub fn refer(&mut self, page: u64, frame: u64) {
        if !self.referenced.contains(&page) {
            self.take_pages_back();
        }
        if let Entry::Vacant(free) = self.resident.entry(page) {
            free.insert(frame);
            self.active.push(page);
        }
        self.referenced.insert(page);
    }

    fn free(&self) -> u64 {
        self.frames - self.wired.len() as u64 - self.resident.len() as u64
    }

    /// The daemon's work. If memory is short, pages leave until it is not.
    fn take_pages_back(&mut self) {
        let low = (self.frames / 128).max(4);
        if self.free() >= low {
            return;
        }
        for _ in 0..4096 {
            if self.free() >= 2 * low {
                return;
            }
            if self.inactive.len() <= self.active.len() / 2 || self.inactive.is_empty() {
                let oldest = self.active.remove(0);
                if self.referenced.remove(&oldest) {
                    self.active.push(oldest);
                } else {
                    self.inactive.push(oldest);
                }
                continue;
            }
            let at = self.next();
            let page = self.inactive.remove(at);
            if self.referenced.remove(&page) {
                self.active.push(page);
            } else {
                self.resident.remove(&page);
                self.left.push(page);
            }
        }
    }

    /// The place in the inactive list of the page that leaves next.
    fn next(&self) -> usize {
        let mut best = 0;
        if self.completes_blocks {
            for at in 1..self.inactive.len().min(MOST_COMPARED) {
                if self.free_beside(at) > self.free_beside(best) {
                    best = at;
                }
            }
        }
        best
    }

    /// The free frames in the block of an inactive page.
    fn free_beside(&self, at: usize) -> usize {
        let frame = self.resident[&self.inactive[at]];
        let first = frame / self.block * self.block;
        let is_used = |frame: u64| {
            let mut used = self.resident.values();
            self.wired.contains(&frame) || used.any(|used| *used == frame)
        };
        (first..first + self.block)
            .filter(|frame| !is_used(*frame))
            .count()
    }
}
