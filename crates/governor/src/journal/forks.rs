//! Forked processes in the estimate of a recorded run.
//!
//! A fork starts with its parent's memory, superpages included. The estimate must replace these
//! superpages too. Without this step a fork keeps the superpages of the recorded run, and the
//! estimate charges all their bytes to the budget.

use super::what_if::{EstimatedProcess, WhatIf};
use crate::seen::{Observation, ProcessId, ProcessSeen};
use std::cmp::Reverse;
use std::collections::BTreeSet;

impl WhatIf {
    /// Adds the processes of this tick. A process whose memory appears for the first time may be a
    /// fork. Then the process gets the superpages of its parent.
    ///
    /// This step comes before ended processes are removed, because the parent may have ended.
    pub(super) fn add_processes(&mut self, seen: &Observation) {
        let is_late = !self.processes.is_empty();
        for process in &seen.processes {
            let known = self.processes.entry(process.id);
            let known =
                known.or_insert_with(|| EstimatedProcess::new(process.vitals.image, is_late));
            let may_be_fork = known.is_late && !known.was_looked_at;
            if let Some(pages) = &process.pages {
                known.was_looked_at = true;
                if may_be_fork
                    && pages.blocks.iter().any(|block| !block.is_empty())
                    && let Some(fork) = self.forked(process)
                {
                    self.processes.insert(process.id, fork);
                }
            }
        }
    }

    /// Returns a copy of the process that forked `child`, if there is one. A fork has its parent's
    /// image, as in the ward. Of several such processes, the parent is the one that explains most
    /// of the superpages.
    fn forked(&self, child: &ProcessSeen) -> Option<EstimatedProcess> {
        let pages = child.pages.as_ref()?;
        let explains = |parent: &EstimatedProcess| {
            let blocks = parent.recorded.0.keys().chain(parent.made.0.keys());
            let huge = blocks.filter(|block| pages.block(**block).is_some_and(|seen| seen.huge));
            huge.count()
        };
        let same = |(id, other): &(&ProcessId, &EstimatedProcess)| {
            **id != child.id && other.image == child.vitals.image
        };
        let parents = self.processes.iter().filter(same);
        let parent = parents.max_by_key(|(id, parent)| (explains(parent), Reverse(**id)));
        let mut fork = parent?.1.fork();
        // The fork may be older than the superpage, or may have broken it: the block then holds
        // base pages.
        let (recorded, made) = (&mut fork.recorded.0, &mut fork.made.0);
        recorded.retain(|block, superpage| {
            let seen = pages.block(*block);
            let keeps =
                seen.is_some_and(|seen| seen.huge || seen.present > superpage.before.present);
            if !keeps {
                made.remove(block);
            }
            keeps
        });
        Some(fork)
    }

    /// Counts inherited superpages in full if the process that made them has given them back.
    pub(super) fn count_heirs(&mut self) {
        let mut recorded = BTreeSet::new();
        let mut made = BTreeSet::new();
        for process in self.processes.values() {
            recorded.extend(process.recorded.own().map(|block| (process.image, block)));
            made.extend(process.made.own().map(|block| (process.image, block)));
        }
        for process in self.processes.values_mut() {
            let image = process.image;
            let first = |block| recorded.insert((image, block));
            process.recorded.take_over(first);
            process.made.take_over(|block| made.insert((image, block)));
        }
    }
}
