//! The events that change a memory: pages leave, and mappings change (rules 19 to 26).

use std::ops::Range;

use broadleaf_trace::Mapping;
use broadleaf_units::{Rights, SpaceId};

use super::{BlockKey, OracleMemory};
use crate::block::{Fill, OracleReservation, ResidentBlock, ResidentPage};
use crate::mappings::{overlap, pages_of};
use crate::policy::PolicySpec;

impl OracleMemory {
    /// The blocks with a resident page that `pages` overlap.
    fn known_blocks(&self, space: SpaceId, pages: &Range<u64>) -> Vec<u64> {
        if pages.is_empty() {
            return Vec::new();
        }
        let blocks = (space, pages.start / 512)..=(space, (pages.end - 1) / 512);
        self.blocks
            .range(blocks)
            .map(|(&(_, block), _)| block)
            .collect()
    }

    pub(super) fn page_goes(&mut self, key: BlockKey, at: usize) {
        let Some(page) = self
            .blocks
            .get_mut(&key)
            .and_then(|block| block.pages[at].take())
        else {
            return;
        };
        self.resident -= 1;
        match page.filled {
            Some(Fill::Zeroed) => self.counts.extra_zeroed_pages += 1,
            Some(Fill::DiskRead) => self.counts.extra_disk_read_pages += 1,
            None => {}
        }
    }

    /// Rules 19 and 25: removes the pages. The caller changes the mapping.
    pub(crate) fn lose_pages(&mut self, space: SpaceId, range: &Range<u64>) {
        for number in self.known_blocks(space, range) {
            let key = (space, number);
            let inside = overlap(range, &pages_of(number));
            let resident_outside = pages_of(number).any(|page| {
                !inside.contains(&page) && self.page(key, (page % 512) as usize).is_some()
            });
            if self.is_promoted(key) {
                if resident_outside {
                    self.demote(key);
                } else {
                    self.tlb.remove_superpage(space, number);
                }
            }
            for page in inside {
                self.page_goes(key, (page % 512) as usize);
            }
            if !resident_outside {
                self.blocks.remove(&key);
            }
        }
        self.tlb.remove_pages(space, range);
    }

    pub(crate) fn file(&mut self, id: broadleaf_units::FileId, size: u64) {
        self.files.insert(id, size);
    }

    pub(crate) fn map(&mut self, space: SpaceId, mapping: &Mapping) {
        self.lose_pages(space, &crate::mappings::pages_in(mapping.range));
        self.mappings(space).map(mapping);
    }

    pub(crate) fn unmap(&mut self, space: SpaceId, pages: &Range<u64>) {
        self.lose_pages(space, pages);
        self.mappings(space).unmap(pages);
    }

    /// Rule 21.
    pub(crate) fn protect(&mut self, space: SpaceId, pages: &Range<u64>, protection: Rights) {
        for changed in self.mappings(space).protect(pages, protection) {
            for number in self.known_blocks(space, &changed) {
                if !self.is_promoted((space, number)) {
                    continue;
                }
                if overlap(&changed, &pages_of(number)) == pages_of(number) {
                    self.tlb.remove_superpage(space, number);
                } else {
                    self.demote((space, number));
                }
            }
            self.tlb.remove_pages(space, &changed);
        }
    }

    pub(crate) fn advise_against(&mut self, space: SpaceId, pages: Range<u64>) {
        self.mappings(space).advise_against(pages);
    }

    pub(crate) fn clear_advice(&mut self, space: SpaceId, pages: &Range<u64>) {
        self.mappings(space).clear_advice(pages);
    }

    /// `Brk`: a shrinking heap gives up pages.
    pub(crate) fn set_heap(&mut self, space: SpaceId, pages: Range<u64>) {
        let gone = self.mappings(space).set_heap(pages);
        self.unmap(space, &gone);
    }

    pub(crate) fn grow_stack(&mut self, space: SpaceId, pages: Range<u64>) {
        self.mappings(space).grow_stack(pages);
    }

    /// The space begins anew or ends: it has no mapping, no resident page and no advice.
    pub(crate) fn release(&mut self, space: SpaceId) {
        self.lose_pages(space, &(0..u64::MAX));
        self.mappings.remove(&space);
    }

    /// Rule 23. `time` is the number of accesses so far.
    pub(crate) fn remap(&mut self, space: SpaceId, from: &Range<u64>, to: &Range<u64>, time: u64) {
        let moved = (from.end - from.start).min(to.end - to.start);
        let source = from.start..from.start + moved;
        let tail = source.end..from.end;
        if from.start == to.start {
            self.unmap(space, &tail);
            self.unmap(space, &(source.end..to.end));
            if to.end > from.end {
                self.mappings(space).extend(from.end, to.end);
            }
            return;
        }
        self.unmap(space, to);
        self.unmap(space, &tail);
        let congruent = from.start % 512 == to.start % 512;
        let destination_of = |page: u64| page - from.start + to.start;
        let mut pages: Vec<(u64, ResidentPage)> = Vec::new();
        let mut reservations: Vec<(u64, OracleReservation)> = Vec::new();
        for number in self.known_blocks(space, &source) {
            let key = (space, number);
            let inside = overlap(&source, &pages_of(number));
            let moves_whole = congruent && inside == pages_of(number);
            if self.is_promoted(key) {
                if moves_whole {
                    self.tlb.remove_superpage(space, number);
                } else {
                    self.demote(key);
                }
            }
            let Some(block) = self.blocks.get_mut(&key) else {
                continue;
            };
            for page in inside {
                if let Some(state) = block.pages[(page % 512) as usize].take() {
                    pages.push((destination_of(page), state));
                }
            }
            if moves_whole && let Some(reservation) = block.reservation {
                reservations.push((destination_of(number * 512) / 512, reservation));
            }
            if block.populated() == 0 {
                self.blocks.remove(&key);
            }
        }
        self.tlb.remove_pages(space, &source);
        for (page, state) in pages {
            let block = self
                .blocks
                .entry((space, page / 512))
                .or_insert_with(|| ResidentBlock::new(None));
            block.pages[(page % 512) as usize] = Some(state);
        }
        for (number, reservation) in reservations {
            if let Some(block) = self.blocks.get_mut(&(space, number)) {
                block.reservation = Some(reservation);
            }
            // A past due date had its question; later decision points give the same answer.
            if let PolicySpec::Life(x) = self.policy
                && reservation.created.saturating_add(x) >= time
            {
                self.note_due((space, number), reservation.created);
            }
        }
        self.mappings(space).move_to(&source, to);
    }
}
