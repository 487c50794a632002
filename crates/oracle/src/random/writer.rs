//! Turns steps into the visits and events of a trace.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use broadleaf_trace::{Advice, Backing, Event, Grain, Mapping, Protection, Visit};
use broadleaf_units::FileId;

use super::ranges::{ARENA, ARENA_PAGES, HEAP, STACK_END, WIDE, WIDE_PAGES, bytes, some_range};
use super::space::Space;
use super::{Action, Rng};
use crate::{OwnedItem, Recording};

const READ_WRITE: Protection = Protection {
    read: true,
    write: true,
    execute: false,
};
const READ: Protection = Protection {
    read: true,
    write: false,
    execute: false,
};
const NONE: Protection = Protection {
    read: false,
    write: false,
    execute: false,
};

/// Sizes in bytes of the files: longer than the arena, a little less than a block, three blocks and a bit.
const FILES: [u64; 3] = [6 * 512 * 4096, 511 * 4096 + 17, (3 * 512 + 5) * 4096 + 123];

/// A trace that is being written.
pub(super) struct Writer {
    pub(super) grain: Grain,
    told: u8,
    items: Vec<OwnedItem>,
    /// Visits since the last event.
    visits: Vec<Visit>,
    spaces: BTreeMap<u32, Space>,
    /// Spaces that have neither ended nor been replaced.
    pub(super) living: Vec<u32>,
    /// Spaces whose start has been told.
    pub(super) started: BTreeSet<u32>,
    pub(super) running: u32,
    files_told: BTreeSet<u32>,
}

impl Writer {
    pub(super) fn new(grain: Grain, told: u8) -> Self {
        Self {
            grain,
            told,
            items: Vec::new(),
            visits: Vec::new(),
            spaces: BTreeMap::from([(0, Space::new(told & 1 != 0))]),
            living: vec![0],
            started: BTreeSet::from([0]),
            running: 0,
            files_told: BTreeSet::new(),
        }
    }

    pub(super) fn finish(mut self) -> Recording {
        self.end_of_visits();
        Recording {
            grain: self.grain,
            items: self.items,
        }
    }

    pub(super) fn step(&mut self, action: Action, rng: &mut Rng) {
        let told = self.space().told;
        match action {
            // A program maps what it is about to use; now and then the recorder has not seen it do so.
            Action::Fill | Action::Wander if told && self.space().is_bare() && !rng.one_in(4) => {
                self.map(rng);
                self.fill(rng);
            }
            Action::Fill => self.fill(rng),
            Action::Wander => self.wander(rng),
            Action::Chase => self.chase(rng),
            Action::Straddle => self.straddle(rng),
            Action::Wait => self.wait(rng),
            Action::Switch => self.switch(rng),
            Action::Leave => self.leave(rng),
            Action::Noise => self.noise(rng),
            Action::Advise => self.advise(rng),
            _ if !told => self.fill(rng),
            Action::Map => self.map(rng),
            Action::Unmap => self.unmap(rng),
            Action::Protect => self.protect(rng),
            Action::Remap => self.remap(rng),
            Action::Brk => self.brk(rng),
            Action::StackGrow => self.stack_grow(rng),
        }
    }

    pub(super) fn space(&mut self) -> &mut Space {
        self.spaces
            .entry(self.running)
            .or_insert_with(|| Space::new(false))
    }

    pub(super) fn new_space(&mut self) -> u32 {
        let id = self.spaces.len() as u32;
        self.spaces
            .insert(id, Space::new(self.told >> (id % 8) & 1 != 0));
        self.living.push(id);
        id
    }

    /// The running space is empty again.
    pub(super) fn begin_again(&mut self) {
        let told = self.space().told;
        self.spaces.insert(self.running, Space::new(told));
    }

    // ---- output ----

    fn end_of_visits(&mut self) {
        if !self.visits.is_empty() {
            self.items
                .push(OwnedItem::Visits(std::mem::take(&mut self.visits)));
        }
    }

    pub(super) fn event(&mut self, event: Event) {
        self.end_of_visits();
        self.items.push(OwnedItem::Event(event));
    }

    /// A visit whose unit is final.
    pub(super) fn push(&mut self, visit: Visit) {
        self.visits.push(visit);
    }

    /// A visit to the page that `visit.unit` names, at the trace's grain.
    pub(super) fn visit(&mut self, rng: &mut Rng, mut visit: Visit) {
        if self.grain == Grain::Line {
            visit.unit = visit.unit << 6 | rng.below(64);
        }
        self.push(visit);
        if rng.one_in(100) {
            self.end_of_visits();
        }
    }

    /// Two visits of which the second leads with the first's last access, in the unit that follows.
    pub(super) fn straddling(&mut self, rng: &mut Rng, mut lower: Visit, mut upper: Visit) {
        if self.grain == Grain::Line {
            lower.unit = lower.unit << 6 | rng.pick(&[63, 63, 20]);
        }
        upper.unit = lower.unit + 1;
        self.push(lower);
        if rng.one_in(5) {
            self.end_of_visits();
        }
        self.push(upper);
    }

    // ---- events of the address space ----

    fn map_at(
        &mut self,
        pages: &Range<u64>,
        protection: Protection,
        shared: bool,
        backing: Backing,
    ) {
        self.event(Event::Map(Mapping {
            range: bytes(pages),
            protection,
            shared,
            backing,
        }));
    }

    fn map(&mut self, rng: &mut Rng) {
        if rng.one_in(8) && !self.space().wide {
            self.space().wide = true;
            let pages = WIDE..WIDE + WIDE_PAGES;
            return self.map_at(&pages, READ_WRITE, false, Backing::Anonymous);
        }
        let arena = ARENA..ARENA + ARENA_PAGES;
        let whole = rng.one_in(3) || (self.space().is_bare() && !rng.one_in(4));
        let pages = if whole {
            arena
        } else {
            some_range(rng, &arena)
        };
        let protection = rng.pick(&[READ_WRITE, READ_WRITE, READ_WRITE, READ]);
        self.space().set_mapped(&pages);
        match rng.below(8) {
            0..4 => self.map_at(&pages, protection, false, Backing::Anonymous),
            4..7 => {
                let file = rng.pick(&[0, 0, 0, 1, 2]);
                if self.files_told.insert(file) {
                    let size = FILES[file as usize];
                    self.event(Event::File {
                        id: FileId(file),
                        size,
                        path: format!("/file{file}"),
                    });
                }
                // Mostly the offset that the arena's own gives, so that neighbours continue each other.
                let offset = match rng.below(4) {
                    0 => rng.below(600),
                    1 => pages.start % 512,
                    _ => pages.start - ARENA,
                };
                let backing = Backing::File {
                    file: FileId(file),
                    offset: offset * 4096,
                };
                self.map_at(&pages, protection, rng.one_in(4), backing);
            }
            _ if rng.one_in(3) => self.map_at(&pages, protection, false, Backing::Kernel),
            _ => self.map_at(&pages, protection, true, Backing::SharedMemory),
        }
    }

    fn unmap(&mut self, rng: &mut Rng) {
        let pages = some_range(rng, &(ARENA..ARENA + ARENA_PAGES));
        self.space().set_unmapped(&pages);
        self.event(Event::Unmap(bytes(&pages)));
    }

    fn protect(&mut self, rng: &mut Rng) {
        let place = rng.below(6);
        let mut pages = some_range(rng, &(ARENA..ARENA + ARENA_PAGES));
        pages = self.space().mapped(&pages);
        if let (0, Some(heap)) = (place, self.space().heap.clone()) {
            pages = some_range(rng, &heap);
        } else if let (1, Some(stack)) = (place, self.space().stack.clone()) {
            pages = some_range(rng, &stack);
        }
        if !pages.is_empty() {
            let protection = rng.pick(&[READ_WRITE, READ_WRITE, READ, NONE]);
            self.event(Event::Protect(bytes(&pages), protection));
        }
    }

    fn advise(&mut self, rng: &mut Rng) {
        let within = self.space().place(rng.below(4));
        let pages = some_range(rng, &within);
        let advice = rng.pick(&[
            Advice::DontNeed,
            Advice::DontNeed,
            Advice::DontNeed,
            Advice::Remove,
            Advice::Free,
            Advice::HugePage,
            Advice::NoHugePage,
            Advice::NoHugePage,
            Advice::Other(21),
        ]);
        if !pages.is_empty() {
            self.event(Event::Advise(bytes(&pages), advice));
        }
    }

    fn remap(&mut self, rng: &mut Rng) {
        // Most ranges do not suit; a few are tried.
        for _ in 0..6 {
            if self.try_remap(rng) {
                return;
            }
        }
    }

    fn try_remap(&mut self, rng: &mut Rng) -> bool {
        let arena = ARENA..ARENA + ARENA_PAGES;
        let from = some_range(rng, &arena);
        let from = self.space().one_mapping(&from);
        if from.is_empty() {
            return false;
        }
        let length = from.end - from.start;
        let new_length = match rng.below(4) {
            0 => 1 + rng.below(length),
            1 => length + rng.pick(&[1, 128, 512]),
            _ => length,
        };
        let to_start = match rng.below(4) {
            0 => from.start,
            1 => ARENA + rng.below(ARENA_PAGES),
            _ => ARENA + from.start % 512 + 512 * rng.below(ARENA_PAGES / 512),
        };
        let to = to_start..to_start + new_length;
        let apart = to.start >= from.end || to.end <= from.start;
        if to.end > arena.end || !(apart || to.start == from.start) {
            return false;
        }
        self.space().move_pages(&from, &to);
        self.event(Event::Remap {
            from: bytes(&from),
            to: bytes(&to),
        });
        true
    }

    fn brk(&mut self, rng: &mut Rng) {
        let heap = match self.space().heap.clone() {
            None => {
                let start = HEAP + rng.pick(&[0, 0, 300]);
                let pages = start..start + rng.below(700);
                if rng.one_in(2) && !pages.is_empty() {
                    self.map_at(&pages, READ_WRITE, false, Backing::Heap);
                }
                pages
            }
            Some(heap) => {
                let change = rng.pick(&[1, 33, 128, 512, 700]);
                let down = rng.one_in(3);
                heap.start..if down {
                    heap.end.saturating_sub(change).max(heap.start)
                } else {
                    heap.end + change
                }
            }
        };
        self.space().heap = Some(heap.clone());
        self.event(Event::Brk(bytes(&heap)));
    }

    fn stack_grow(&mut self, rng: &mut Rng) {
        let stack = match self.space().stack.clone() {
            None => {
                let end = STACK_END - rng.pick(&[0, 0, 20]);
                let pages = end - 1 - rng.below(300)..end;
                self.map_at(&pages, READ_WRITE, false, Backing::Stack);
                pages
            }
            Some(stack) => {
                let pages = stack.start - rng.pick(&[1, 3, 50, 300])..stack.end;
                self.event(Event::StackGrow(bytes(&pages)));
                pages
            }
        };
        self.space().stack = Some(stack);
    }
}
