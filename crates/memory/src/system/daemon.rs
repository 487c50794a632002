//! The page daemon, which takes pages back when frames are short.
//!
//! The daemon has two lists, as in FreeBSD and in 2Q. Pages begin on the active list. A page that
//! was not referenced since the daemon last read its reference bit goes to the inactive list. An
//! inactive page leaves memory unless it was referenced again. The frame of a clean file page keeps
//! its content until the frame is used again: these frames are the cache (Navarro 2002, on the
//! contiguity-aware page daemon).

use super::frame_table::{File, FilePage, List};
use super::{Place, Pte, System};
use crate::AddressSpaces;
use crate::frames::Frame;
use broadleaf_policy::{Copies, PageDaemon, Point, Verdict};

/// The most pages that the daemon checks before the program goes on. Without a bound the daemon
/// would check all pages at each fault if hardly any page can leave.
const MOST_LOOKS: u64 = 4096;
/// The oldest inactive pages among which the daemon looks for one that completes a free block.
const MOST_COMPARED: usize = 64;
/// The most extents that the daemon checks for one with few pages in the way.
const MOST_EXTENTS: usize = 1024;

impl System<'_> {
    /// Runs the daemons before a reference that faults. The program does not wait for them.
    pub(super) fn keep_frames_free(&mut self, spaces: &AddressSpaces) {
        if self.is_short() {
            let missing = self.high.saturating_sub(self.available());
            self.beside(|system| {
                system.take_pages_back(spaces, missing, MOST_LOOKS);
            });
        }
        if let Some(level) = self.wanted.take() {
            self.beside(|system| system.restore(level));
        }
    }

    /// Does work for which the program does not wait.
    pub(super) fn beside(&mut self, work: impl FnOnce(&mut Self)) {
        let before = std::mem::take(&mut self.fault_cycles);
        work(self);
        let taken = std::mem::replace(&mut self.fault_cycles, before);
        self.counters.daemon_cycles += taken;
    }

    /// Makes an extent of a level that was asked for in vain.
    fn restore(&mut self, level: usize) {
        let order = self.sizes.order(level);
        if self.has_extent(order) {
            return;
        }
        match self.needs.daemon {
            PageDaemon::ForContiguity if self.needs.without.clearing => {}
            PageDaemon::ForContiguity => self.clear_extent(order),
            // A system that never copies pages together does not compact for reservations either.
            PageDaemon::OldestFirst | PageDaemon::CompletingBlocks
                if self.needs.copies == Copies::Never => {}
            PageDaemon::OldestFirst | PageDaemon::CompletingBlocks => {
                if let Some(first) = self.compact(order) {
                    self.give_back(first, order);
                }
            }
        }
    }

    /// Evicts inactive pages from an extent that has no other obstacles.
    fn clear_extent(&mut self, order: u8) {
        let mut seen = std::collections::BTreeSet::new();
        let mut at = self.frames.oldest(List::Inactive);
        while let Some(frame) = at {
            at = self.frames.newer(frame);
            let first = frame.0 >> order << order;
            if !seen.insert(first) {
                continue;
            }
            if seen.len() > MOST_EXTENTS {
                return;
            }
            let pages = first..first + (1 << order);
            let helps = pages.end <= self.buddy.frames()
                && pages.clone().map(Frame).all(|frame| {
                    self.buddy.is_free(frame)
                        || (self.frames.list(frame) == Some(List::Inactive)
                            && !self.is_referenced(frame)
                            && self.can_leave(frame))
                });
            if helps {
                for frame in pages.map(Frame) {
                    if self.frames.is_used(frame) && self.can_leave(frame) {
                        self.evict(frame);
                    }
                }
                return;
            }
        }
    }

    /// Takes pages back until `frames` more frames are available, without a bound on the effort.
    /// Returns true if any frame became available.
    pub(super) fn reclaim(&mut self, spaces: &AddressSpaces, frames: u64) -> bool {
        // A page that can leave may be the last active page, and referenced. Every other page is
        // checked at most twice on the active list, for its reference and for its list, and once on
        // the inactive list each time if the page cannot leave.
        let pages = self.frames.length(List::Active) + self.frames.length(List::Inactive);
        self.take_pages_back(spaces, frames, 6 * pages + 6)
    }

    /// Takes pages back with at most `looks` checks of a page.
    fn take_pages_back(&mut self, spaces: &AddressSpaces, frames: u64, looks: u64) -> bool {
        let before = self.available();
        if self.in_swap >= self.swap && !self.frames.holds_files() {
            return false;
        }
        let mut looks = looks;
        while self.available() < before + frames && looks > 0 {
            looks -= 1;
            if self.frames.length(List::Inactive) <= self.frames.length(List::Active) / 2 {
                self.look_at_active(spaces);
                continue;
            }
            let Some(frame) = self.next_inactive() else {
                if self.frames.length(List::Active) == 0 {
                    break;
                }
                self.look_at_active(spaces);
                continue;
            };
            if self.take_references(spaces, frame) {
                self.frames.put(frame, List::Active);
            } else if self.can_leave(frame) {
                self.evict(frame);
            } else {
                // A page that cannot leave would delay others on the inactive list.
                self.frames.put(frame, List::Active);
            }
        }
        self.available() > before
    }

    /// The inactive page that leaves next: the oldest, or the one of the oldest that completes a
    /// free block soonest.
    fn next_inactive(&self) -> Option<Frame> {
        let oldest = self.frames.oldest(List::Inactive);
        if self.needs.daemon != PageDaemon::CompletingBlocks || self.sizes.levels() < 2 {
            return oldest;
        }
        let order = self.sizes.order(1);
        // What a reservation keeps for other pages is as good as free.
        let kept = |frame: Frame| {
            let mapper = self.frames.mappers(frame).first().copied();
            let own = mapper.filter(|at| self.is_kept(*at, frame));
            let around = own.and_then(|at| self.reservations.around(at));
            let object = self.object_of(frame).map(|(id, _)| id);
            let id = object.or(around)?;
            let population = self.reservations.get(id).population();
            Some(population.len() - population.count())
        };
        let free = |frame: &Frame| {
            let first = Frame(frame.0 >> order << order);
            self.buddy.free_frames_in(first, order) + kept(*frame).unwrap_or(0)
        };
        let inactive = std::iter::successors(oldest, |frame| self.frames.newer(*frame));
        // Of equals, the last has been least recently used, so the order is reversed.
        let looked_at: Vec<Frame> = inactive.take(MOST_COMPARED).collect();
        looked_at.into_iter().rev().max_by_key(free)
    }

    fn look_at_active(&mut self, spaces: &AddressSpaces) {
        let Some(frame) = self.frames.oldest(List::Active) else {
            return;
        };
        let list = if self.take_references(spaces, frame) {
            List::Active
        } else {
            List::Inactive
        };
        // The frame may belong to a superpage that was just demoted. It is on a list in any case.
        self.frames.put(frame, list);
    }

    /// Returns true if a page that maps a frame has its reference bit set.
    fn is_referenced(&self, frame: Frame) -> bool {
        self.frames.mappers(frame).iter().any(|at| {
            let piece = self.piece(*at, self.tables.get(*at).level());
            let pages = self.pages(piece.level);
            self.tables.counts(piece.first, pages).referenced > 0
        })
    }

    /// Clears the reference bits of the pages that map a frame. Returns true if a bit was set. The
    /// policy may demote a superpage here.
    fn take_references(&mut self, spaces: &AddressSpaces, frame: Frame) -> bool {
        let mut any = false;
        for at in self.frames.mappers(frame) {
            let level = self.tables.get(at).level();
            let piece = self.piece(at, level);
            let referenced = self
                .tables
                .counts(piece.first, self.pages(level))
                .referenced
                > 0;
            any |= referenced;
            let is_asked = self.asked_levels(at.space).contains(&level);
            if is_asked && self.needs.asked_when_short {
                // Asked as its reference bit is cleared (Navarro 2002, on speculative demotion).
                let view = self.view(spaces, piece, at.page, 0);
                match self.policy.decide(Point::Short, &view) {
                    Verdict::Demote => self.demote(piece),
                    Verdict::Stay(reason) => self.refuse(piece, reason),
                    Verdict::Promote | Verdict::Pass => {}
                }
            }
            if referenced {
                for at in self.places(piece) {
                    let pte = self.tables.get(at);
                    if pte.has(Pte::REFERENCED) {
                        self.tables.set(at, pte.without(Pte::REFERENCED));
                    }
                }
            }
        }
        any
    }

    /// Returns true if the page in a frame can leave memory.
    fn can_leave(&self, frame: Frame) -> bool {
        let mappers = self.frames.mappers(frame);
        if mappers.iter().any(|at| self.pinned == Some(*at)) || !self.buddy.serves_pages(frame) {
            return false;
        }
        let wanted = match self.frames.file_page(frame) {
            Some((File::OnDisk(_), _)) => return true,
            Some((File::Memory(_), _)) => 1,
            None => mappers.len() as u64,
        };
        self.in_swap + wanted <= self.swap
    }

    /// A page leaves memory. What of a superpage it is part of breaks first.
    fn evict(&mut self, frame: Frame) {
        let mappers = self.frames.mappers(frame);
        for at in &mappers {
            self.demote_to_base_page(*at);
        }
        let file = self.frames.file_page(frame);
        let unsaved = self.is_unsaved(frame);
        if let Some(page) = file {
            self.evict_file(page, frame, &mappers, unsaved);
        } else if !unsaved {
            // The page holds zeroes, or content that the program no longer needs.
            self.counters.dropped += 1;
            for at in &mappers {
                self.unmap_evicted(*at, frame, Pte::NONE);
            }
        } else {
            self.counters.swapped_out += 1;
            self.fault_cycles += self.costs.disk;
            for at in &mappers {
                self.in_swap += 1;
                self.unmap_evicted(*at, frame, Pte::of(Frame(0), Pte::SWAPPED));
            }
        }
    }

    fn evict_file(&mut self, page: FilePage, frame: Frame, mappers: &[Place], unsaved: bool) {
        self.save(page, unsaved);
        self.empty_frame(frame, mappers);
        // A free frame still holds the page, and a fault finds the page there until the frame is
        // used again. A page in the swap has to be read from the swap.
        let found_again = !self.needs.without.cache_hits;
        if found_again && self.buddy.is_free(frame) && matches!(page.0, File::OnDisk(_)) {
            self.cache.insert(frame, page);
            self.cached.insert(page, frame);
        }
    }

    /// Removes the page of a file from a frame, and unmaps the frame everywhere.
    pub(super) fn empty_frame(&mut self, frame: Frame, mappers: &[Place]) {
        self.frames.forget_file(frame);
        for at in mappers {
            self.unmap_evicted(*at, frame, Pte::NONE);
        }
        if mappers.is_empty() {
            self.frames.end(frame);
            self.free_frame(frame);
        }
    }

    /// A page of a file leaves memory, and is written to the disk or the swap where it has to be.
    pub(super) fn save(&mut self, page: FilePage, unsaved: bool) {
        if !unsaved {
            self.counters.dropped += 1;
            return;
        }
        self.fault_cycles += self.costs.disk;
        match page.0 {
            File::OnDisk(_) => self.counters.file_writes += 1,
            File::Memory(_) => {
                self.counters.swapped_out += 1;
                self.in_swap += 1;
                self.shared_in_swap.insert(page);
            }
        }
    }

    /// Returns true if the content of a frame differs from the file.
    pub(super) fn is_unsaved(&self, frame: Frame) -> bool {
        let mappers = self.frames.mappers(frame);
        let stored = |at: &Place| self.tables.get(*at).has(Pte::UNSAVED);
        self.frames.is_unsaved(frame) || mappers.iter().any(stored)
    }

    fn unmap_evicted(&mut self, at: Place, frame: Frame, pte: Pte) {
        let old = self.tables.get(at);
        self.stop_streams(at.space, at.page, at.page + 1);
        self.count_gone(old);
        self.tables.set(at, pte);
        self.forget_range(at, 1);
        self.leave_frame_for_good(at, frame);
    }
}
