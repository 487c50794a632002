//! Superpages that this ward did not make: those of an earlier or another governor, and the
//! kernel's own.
//!
//! They count against the budget, so that the budget holds across restarts of a governor. Such a
//! superpage added the pages that were not resident at the last observation of the block as base
//! pages. Without such an observation, the superpage counts as having added the whole block.

use super::mark::Mark;
use super::{Ward, WardProcess};
use crate::seen::{BlockSeen, LiveBacking, LiveMapping, LivePages, PAGES, ProcessId, ProcessSeen};
use std::collections::BTreeSet;

/// A superpage that the ward did not make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FoundSuperpage {
    /// The maximum number of base pages that the superpage added.
    pub(super) pages: u16,
    /// True if another process of the ward maps the same memory and is charged for it.
    pub(super) is_shared: bool,
}

impl FoundSuperpage {
    /// Creates the record of a superpage, given the last observation of its block and the charged
    /// base pages that remained.
    pub(super) fn after(before: Option<&BlockSeen>, left: u16) -> Self {
        let resident = before.map_or(0, |before| if before.huge { 0 } else { before.present });
        Self {
            pages: PAGES as u16 - resident + left.min(resident),
            is_shared: false,
        }
    }
}

impl Ward {
    /// Returns the bytes that all superpages added, of the ward or not, without the superpages that
    /// the program asked for. The number is an upper bound.
    pub fn charged_bytes(&self) -> u64 {
        let marks = self.known.values().flat_map(|known| known.marks.values());
        marks.map(Mark::charged_bytes).sum()
    }

    /// Returns true if a process has superpages that are not accounted for yet. The next decision
    /// then needs the ranges for which the program asked for superpages.
    pub(crate) fn is_strange(&self, process: ProcessId, pages: &LivePages) -> bool {
        let known = self.known.get(&process);
        pages.mapped().any(|(_, seen)| {
            seen.huge && !known.is_some_and(|known| known.accounts_for(seen.block))
        })
    }

    /// Returns the superpages of a process that another process of the ward maps as well and is
    /// charged for. These are shared memory, and memory that a fork shares. `is_late` is true if
    /// the ward saw processes before this observation.
    pub(super) fn charged_elsewhere(
        &self,
        process: &ProcessSeen,
        pages: &LivePages,
        is_late: bool,
    ) -> BTreeSet<u64> {
        let known = self.known.get(&process.id);
        // Private superpages may be shared only if the process was forked while the ward observed.
        // An older process is charged, because the owner of its superpages is unknown.
        let is_fork = known.map_or(is_late, |known| known.is_late && !known.was_looked_at);
        let same = |mapping: &LiveMapping, block: u64, other: &WardProcess| match mapping.backing {
            LiveBacking::Anonymous => is_fork && other.vitals.image == process.vitals.image,
            LiveBacking::Shmem => LiveMapping::of_block(&other.pages.mappings, block)
                .is_some_and(|theirs| theirs.shares_memory_with(mapping)),
            LiveBacking::File | LiveBacking::Other => false,
        };
        let strange = pages.mapped().filter(|(_, seen)| {
            seen.huge && !known.is_some_and(|known| known.accounts_for(seen.block))
        });
        let shared = strange.filter(|(mapping, seen)| {
            let mut others = self.known.iter().filter(|(id, _)| **id != process.id);
            others
                .any(|(_, other)| other.is_charged(seen.block) && same(mapping, seen.block, other))
        });
        shared.map(|(_, seen)| seen.block).collect()
    }

    /// Charges a remaining process for memory that it shared with ended processes.
    pub(super) fn charge_heirs(&mut self) {
        let shared = self.known.iter().flat_map(|(id, known)| {
            let marks = known.marks.iter();
            marks
                .filter(|(_, mark)| mark.found.is_some_and(|found| found.is_shared))
                .map(|(block, _)| (*id, *block))
        });
        for (heir, block) in shared.collect::<Vec<_>>() {
            let mut others = self.known.iter().filter(|(id, _)| **id != heir);
            if others.any(|(_, other)| other.is_charged(block)) {
                continue;
            }
            let known = self.known.get_mut(&heir);
            if let Some(mark) = known.and_then(|known| known.marks.get_mut(&block)) {
                mark.found = Some(FoundSuperpage::after(None, 0));
            }
        }
    }
}

impl WardProcess {
    /// Charges superpages that appeared since the observation `before`.
    pub(super) fn take_in_found(&mut self, before: &LivePages, shared: &BTreeSet<u64>) {
        for seen in self.pages.blocks.iter().filter(|seen| seen.huge) {
            let block = seen.block;
            if self.asked.iter().any(|asked| asked.contains(&block)) {
                continue;
            }
            let mark = self.marks.entry(block).or_default();
            if mark.made.is_none() && mark.found.is_none() {
                mark.found = Some(if shared.contains(&block) {
                    FoundSuperpage {
                        pages: 0,
                        is_shared: true,
                    }
                } else {
                    FoundSuperpage::after(before.block(block), mark.all_left())
                });
            }
        }
    }

    /// Returns true if the ward made or charged the superpage at a block, or the program asked for
    /// it.
    fn accounts_for(&self, block: u64) -> bool {
        self.marks
            .get(&block)
            .is_some_and(|mark| mark.made.is_some() || mark.found.is_some())
            || self.asked.iter().any(|asked| asked.contains(&block))
    }

    fn is_charged(&self, block: u64) -> bool {
        self.marks.get(&block).is_some_and(Mark::is_charged)
    }

    /// Returns true if the process is charged for any memory, so that processes which share this
    /// memory are not charged.
    pub(super) fn is_charged_at_all(&self) -> bool {
        self.marks.values().any(Mark::is_charged)
    }
}

impl Mark {
    /// Returns true if this process is charged for the superpage at this block.
    fn is_charged(&self) -> bool {
        self.made.is_some() || self.found.is_some_and(|found| !found.is_shared)
    }
}
