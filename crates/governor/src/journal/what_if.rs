//! The memory of recorded processes as it would be under another policy.

use super::TickRecord;
use super::growth::Growth;
use super::superpages::{Superpage, Superpages};
use crate::plan::{Came, Outcome, TickPlan};
use crate::seen::{BlockSeen, LivePages, Observation, PAGES, ProcessId, ProcessSeen};
use crate::ward::Ward;
use broadleaf_policy::Refusal;
use std::collections::BTreeMap;
use std::time::Duration;

/// A temporary refusal is repeated for attempts within this time.
const PASSES_AFTER: Duration = Duration::from_secs(10);

/// A ward that decides on a recorded run, with the outcomes of its own decisions.
pub(super) struct WhatIf {
    ward: Ward,
    /// True if the recorded run changed nothing.
    dry: bool,
    /// The promotions that a tick has time for. `None` if the recorded run never ran out of time.
    reach: Option<u64>,
    pub(super) processes: BTreeMap<ProcessId, EstimatedProcess>,
}

/// The differences between the recorded run and the estimate in one process.
#[derive(Debug, Default)]
pub(super) struct EstimatedProcess {
    pub(super) image: u64,
    /// True if other processes were seen before this process, so that it may be a fork.
    pub(super) is_late: bool,
    /// True if its memory was ever read.
    pub(super) was_looked_at: bool,
    /// The contents of the blocks without the superpages of the recorded run, as far as they are
    /// known.
    base: BTreeMap<u64, BlockSeen>,
    /// The estimated growth of filling blocks.
    growth: Growth,
    /// The memory at the latest read.
    pages: LivePages,
    /// The superpages of the recorded run.
    pub(super) recorded: Superpages,
    /// The superpages of the estimate.
    pub(super) made: Superpages,
    /// The latest refusal of each block in the recorded run, with its time.
    refused: BTreeMap<u64, (Refusal, Duration)>,
    /// True if the kernel did not allow changes to the process.
    unreachable: bool,
}

impl WhatIf {
    pub(super) fn new(ward: Ward, dry: bool, reach: Option<u64>) -> Self {
        Self {
            ward,
            dry,
            reach,
            processes: BTreeMap::new(),
        }
    }

    pub(super) fn into_ward(self) -> Ward {
        self.ward
    }

    /// Replays one tick.
    pub(super) fn tick(&mut self, record: &TickRecord) {
        let seen = self.overlay(&record.seen);
        self.ward.see(seen);
        let plan = self.ward.decide();
        let at = record.seen.at;
        self.record(&record.outcomes, at);
        let outcomes = if plan == record.plan && !self.dry {
            // Both decisions are equal, so the recorded outcomes hold for the estimate.
            record.outcomes.clone()
        } else {
            self.outcomes(&plan, at)
        };
        for outcome in &outcomes {
            let process = self.processes.entry(outcome.process).or_default();
            process.made.take_in(outcome);
        }
        self.ward.learn(&outcomes);
    }

    /// Returns the observation with the superpages of the estimate in place of the superpages of
    /// the recorded run.
    fn overlay(&mut self, seen: &Observation) -> Observation {
        self.add_processes(seen);
        self.processes.retain(|id, _| seen.has(*id));
        let processes: Vec<ProcessSeen> = (seen.processes.iter())
            .map(|process| {
                let known = self.processes.entry(process.id).or_default();
                known.overlay(process, seen.at)
            })
            .collect();
        self.count_heirs();
        let all = || self.processes.values();
        let recorded: u64 = all()
            .map(|process| process.counted(&process.recorded))
            .sum();
        let made: u64 = all().map(|process| process.counted(&process.made)).sum();
        let instead = |bytes: u64| bytes.saturating_add(recorded).saturating_sub(made);
        let mut machine = seen.machine;
        machine.available_bytes = instead(machine.available_bytes);
        machine.free_blocks = machine
            .free_blocks
            .saturating_add(all().map(|process| process.recorded.whole()).sum())
            .saturating_sub(all().map(|process| process.made.whole()).sum());
        let processes = processes.into_iter().map(|mut process| {
            if let Some(left) = &mut process.headroom {
                left.bytes = instead(left.bytes).min(left.limit);
            }
            process
        });
        Observation {
            at: seen.at,
            machine,
            processes: processes.collect(),
        }
    }

    /// Takes in the outcomes of the recorded decisions.
    fn record(&mut self, outcomes: &[Outcome], at: Duration) {
        for outcome in outcomes {
            let process = self.processes.entry(outcome.process).or_default();
            let block = outcome.block;
            process.recorded.take_in(outcome);
            match outcome.came {
                Came::Promoted(before) => {
                    process.refused.remove(&block);
                    process.growth.hid(&before, at);
                    let before = process
                        .recorded
                        .0
                        .get(&block)
                        .map_or(before, |made| made.before);
                    if process.lost(before)
                        && let Some(made) = process.made.0.get_mut(&block)
                    {
                        made.is_whole = false;
                    }
                }
                Came::Demoted(now) => {
                    process.growth.forget(block);
                    process.base.insert(block, now);
                }
                Came::Refused(Refusal::Unreachable) => process.unreachable = true,
                Came::Refused(reason) => {
                    process.refused.insert(block, (reason, at));
                }
                Came::WasHuge | Came::StillHuge | Came::Gone => {}
            }
        }
    }

    /// Returns the estimated outcomes of a plan.
    fn outcomes(&self, plan: &TickPlan, at: Duration) -> Vec<Outcome> {
        let came =
            |process: ProcessId, block: u64, came: fn(&EstimatedProcess, u64, Duration) -> Came| {
                let known = self.processes.get(&process);
                Outcome {
                    process,
                    block,
                    came: known.map_or(Came::Gone, |known| came(known, block, at)),
                }
            };
        let demoted = plan.demote.iter();
        let demoted =
            demoted.map(|(process, block)| came(*process, *block, EstimatedProcess::demoted));
        let promoted = plan.promote.iter().flat_map(|run| {
            let blocks = run.blocks.clone();
            blocks.zip(&run.present).map(|(block, decided)| {
                let mut outcome = came(run.process, block, EstimatedProcess::promoted);
                // As in a run, a block that lost pages since the decision is skipped, since it
                // would add more memory than allowed.
                if matches!(outcome.came, Came::Promoted(before) if before.present < *decided) {
                    outcome.came = Came::Refused(Refusal::Changed);
                }
                outcome
            })
        });
        let reach = self.reach.and_then(|reach| usize::try_from(reach).ok());
        let promoted = promoted.take(reach.unwrap_or(usize::MAX));
        demoted.chain(promoted).collect()
    }
}

impl EstimatedProcess {
    pub(super) fn new(image: u64, is_late: bool) -> Self {
        Self {
            image,
            is_late,
            ..Self::default()
        }
    }

    /// Returns the state that a fork of this process starts with.
    pub(super) fn fork(&self) -> Self {
        Self {
            base: self.base.clone(),
            growth: self.growth.clone(),
            recorded: self.recorded.inherited(),
            made: self.made.inherited(),
            was_looked_at: true,
            ..Self::new(self.image, true)
        }
    }

    /// Returns the observation of this process with the superpages of the estimate in place of the
    /// recorded superpages.
    fn overlay(&mut self, seen: &ProcessSeen, at: Duration) -> ProcessSeen {
        if self.image != seen.vitals.image {
            *self = Self {
                image: seen.vitals.image,
                was_looked_at: self.was_looked_at,
                ..Self::default()
            };
        }
        if let Some(pages) = &seen.pages {
            self.pages = pages.clone();
        }
        // The recorded run does not read a process without page faults. A filling block has page
        // faults in the estimate if a superpage hides them in the recorded run alone.
        let (recorded, made) = (&self.recorded, &self.made);
        let faults = |block: u64| recorded.has(block) && !made.has(block);
        let looked = seen.pages.is_some() || self.growth.any(faults);
        let pages = looked.then(|| {
            let pages = std::mem::take(&mut self.pages);
            let shown = self.pages(&pages, at);
            self.pages = pages;
            shown
        });
        // Blocks that the program returned whole are in neither list any more.
        let (recorded, made) = (self.added(&self.recorded), self.added(&self.made));
        let mut seen = seen.clone();
        let rss = seen.vitals.rss_bytes;
        seen.vitals.rss_bytes = rss.saturating_add(made).saturating_sub(recorded);
        seen.pages = pages;
        if let Some(held) = seen.pages.as_mut().and_then(|pages| pages.held.as_mut()) {
            let (recorded, made) = (self.counted(&self.recorded), self.counted(&self.made));
            *held = held.saturating_add(made).saturating_sub(recorded);
        }
        seen
    }

    /// Returns the bytes that superpages add to the resident pages of their blocks.
    fn added(&self, superpages: &Superpages) -> u64 {
        let each = superpages.0.iter();
        each.map(|(block, made)| self.added_by(*block, made)).sum()
    }

    /// Returns the added bytes without inherited superpages, which another process counts.
    fn counted(&self, superpages: &Superpages) -> u64 {
        let own = superpages.0.iter().filter(|(_, made)| !made.is_inherited);
        own.map(|(block, made)| self.added_by(*block, made)).sum()
    }

    /// Returns the bytes that one superpage adds. If the program broke the superpage, all bytes
    /// that it first added may still be there.
    fn added_by(&self, block: u64, made: &Superpage) -> u64 {
        let base = self.base.get(&block).filter(|_| made.is_whole);
        base.unwrap_or(&made.before).bytes_to_add()
    }

    fn pages(&mut self, seen: &LivePages, at: Duration) -> LivePages {
        let holds_something = |block: u64| seen.block(block).is_some();
        self.recorded.0.retain(|block, _| holds_something(*block));
        self.made.0.retain(|block, _| holds_something(*block));
        self.base.retain(|block, _| holds_something(*block));
        self.growth.retain(holds_something);
        let blocks = seen.blocks.iter();
        let blocks = blocks.map(|seen| self.block(seen, at)).collect();
        for block in self.growth.filled(at) {
            let recorded = self.recorded.0.get_mut(&block);
            for made in recorded.into_iter().chain(self.made.0.get_mut(&block)) {
                made.before = BlockSeen {
                    present: PAGES as u16,
                    ..BlockSeen::empty(block)
                };
            }
        }
        LivePages {
            mappings: seen.mappings.clone(),
            blocks,
            held: seen.held,
            asked: seen.asked.clone(),
            used: seen.used.clone(),
        }
    }

    /// Returns one block as it is in the estimate.
    fn block(&mut self, seen: &BlockSeen, at: Duration) -> BlockSeen {
        let number = seen.block;
        if !seen.huge && !self.recorded.0.contains_key(&number) {
            self.growth.saw(seen, at);
        }
        let recorded = self.recorded.0.get_mut(&number);
        let base = match &recorded {
            // The pages that the recorded superpage added are not the program's. After a break, the
            // rest of them stays for a while.
            Some(made) if seen.huge => self.growth.holds(made.before, at),
            Some(made) => BlockSeen {
                present: (seen.present).min(self.growth.holds(made.before, at).present),
                ..*seen
            },
            None => *seen,
        };
        // A superpage that the recorded governor broke has left the list, so the program broke this
        // one: just now, or earlier.
        let (broken, is_broken) = recorded.map_or((false, false), |made| {
            let broken = made.is_whole && !seen.huge;
            made.is_whole &= seen.huge;
            (broken, !made.is_whole)
        });
        let lost = self.lost(base);
        match self.made.0.get_mut(&number) {
            None => base,
            Some(made) if made.is_whole && !broken && !lost => BlockSeen::superpage(number),
            Some(made) => {
                made.is_whole = false;
                // If both runs have the superpage broken, the recorded contents hold.
                if is_broken { *seen } else { base }
            }
        }
    }

    /// Notes the contents of a block without superpages. Returns true if the block lost pages.
    fn lost(&mut self, base: BlockSeen) -> bool {
        let was = self.base.insert(base.block, base);
        let pages = |seen: &BlockSeen| seen.present + seen.swapped;
        was.is_some_and(|was| !was.huge && !base.huge && pages(&base) < pages(&was))
    }

    /// Returns the estimated outcome of a promotion.
    fn promoted(&self, block: u64, at: Duration) -> Came {
        if self.unreachable {
            return Came::Refused(Refusal::Unreachable);
        }
        if let Some((reason, when)) = self.refused.get(&block) {
            let passes = matches!(
                reason,
                Refusal::Busy
                    | Refusal::Changed
                    | Refusal::TooManyShared
                    | Refusal::NoExtent
                    | Refusal::NoCharge
            );
            if !passes || at.saturating_sub(*when) < PASSES_AFTER {
                return Came::Refused(*reason);
            }
        }
        match self.base.get(&block) {
            Some(base) => Came::Promoted(*base),
            None => Came::Refused(Refusal::Changed),
        }
    }

    /// Returns the estimated outcome of a demotion: the block keeps the contents that it has
    /// without a superpage.
    fn demoted(&self, block: u64, _: Duration) -> Came {
        match self.base.get(&block) {
            None => Came::Gone,
            Some(base) if base.huge => Came::StillHuge,
            // The pages that the kernel filled are zeroes, and the kernel frees them.
            Some(base) => Came::Demoted(BlockSeen {
                zero: (PAGES as u16).saturating_sub(base.present + base.swapped),
                ..*base
            }),
        }
    }
}

#[cfg(test)]
mod tests;
