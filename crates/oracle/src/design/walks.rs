//! Walk entries: entries of the page table that share structures with pages.
//!
//! The page table of a space is a space of its own, with a number from [`TABLES`] on. An entry of
//! it covers many pages, and takes one entry of a structure.

use super::entries::{SlowEntries, SlowEntry};
use super::{ListedTlb, SlowPage};

/// The number of the page table of space 0.
pub(super) const TABLES: u32 = 1 << 31;

impl SlowEntries {
    /// The set of the walk entry that covers a page, if the structure holds such entries.
    fn set_of_walk_entry(&self, page: u64, span: u64) -> Option<usize> {
        let mut held = self.of.walk_entries.iter();
        let (_, with_one_index) = held.find(|(held, _)| *held == span)?;
        Some((page / with_one_index) as usize % self.of.sets)
    }

    fn find_walk_entry(&mut self, space: u32, page: u64, span: u64) -> bool {
        let Some(set) = self.set_of_walk_entry(page, span) else {
            return false;
        };
        let name = (TABLES + space, page / span * span, span);
        let mut keys = self.sets[set].keys();
        let found = keys.find(|id| {
            let entry = &self.entries[id];
            (entry.space, entry.first, entry.pages()) == name
        });
        drop(keys);
        found.is_some_and(|id| self.sets[set].hit(self.of.rule, id))
    }

    fn load_walk_entry(&mut self, space: u32, page: u64, span: u64) {
        let Some(set) = self.set_of_walk_entry(page, span) else {
            return;
        };
        let first = page / span * span;
        let entry = SlowEntry {
            space: TABLES + space,
            first,
            step: span,
            slots: vec![Some(SlowPage {
                space: TABLES + space,
                first,
                pages: span,
                frame: None,
                rights: 0,
                modified: false,
            })],
        };
        self.insert(set, entry);
    }
}

impl ListedTlb {
    /// Goes down the page table to a leaf. `spans` are the pages of 4 KiB that an entry of each
    /// level above the base pages covers, smallest first.
    pub(super) fn go_down(&mut self, (space, page): (u32, u64), leaf: u64, spans: &[u64]) {
        let mut missing = Vec::new();
        for span in spans.iter().copied().filter(|span| *span > leaf) {
            let mut structures = self.structures.iter_mut();
            if structures.any(|of| of.find_walk_entry(space, page, span)) {
                self.counts.walk_entry_hits += 1;
                break;
            }
            missing.push(span);
        }
        self.counts.walk_reads += missing.len() as u64 + 1;
        // The walk reads the entry nearest to the root first.
        while let Some(span) = missing.pop() {
            for number in 0..self.structures.len() {
                self.structures[number].load_walk_entry(space, page, span);
                self.settle(number);
            }
        }
    }

    /// Removes the walk entries that lead to pages of a space.
    pub fn remove_walk_entries(&mut self, space: u32, first: u64, pages: u64) {
        let end = first.saturating_add(pages);
        for structure in &mut self.structures {
            structure.drop(|page| {
                let overlaps = page.first < end && first < page.first + page.pages;
                page.space == TABLES + space && overlaps
            });
        }
    }
}
