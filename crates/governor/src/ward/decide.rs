//! The decision of a ward.

use super::{Ward, WardProcess, used};
use crate::plan::{PromotionRun, TickPlan};
use crate::seen::{BlockSeen, LiveMapping, PAGES, ProcessId};
use crate::view::{refusal_of, view};
use broadleaf_policy::{Point, Refusal, Verdict, View};
use std::cmp::Reverse;

/// The maximum number of blocks in a run. Budgets and the clock are checked between two runs.
const RUN: usize = 16;

/// The blocks that a tick tries to promote without a free extent. The kernel may make room by
/// moving pages, in the governor's time and not in the program's. If the kernel cannot, nothing is
/// tried for a while.
const BY_COMPACTION: u64 = 16;

/// A block that the policy would promote.
#[derive(Clone, Copy, Debug)]
struct PromotionCandidate {
    process: ProcessId,
    seen: BlockSeen,
    /// The rank by the policy. It is 0 for policies that do not weigh use.
    rank: u64,
}

impl Ward {
    /// Returns the plan for now. Demotions come first, because they make room.
    pub fn decide(&mut self) -> TickPlan {
        if !self.is_due() {
            return TickPlan::default();
        }
        self.decided = Some(self.at);
        let demote = self.demotions();
        let promote = if self.shortage().is_any() {
            self.refuse_all(Refusal::MemoryShort)
        } else if self.pause.waits(self.at) {
            self.refuse_all(self.lacking)
        } else {
            let candidates = self.candidates();
            self.within_budget(candidates, &demote)
        };
        TickPlan {
            demote,
            promote: runs(promote),
        }
    }

    /// Refuses every candidate for one reason.
    fn refuse_all(&mut self, reason: Refusal) -> Vec<PromotionCandidate> {
        for candidate in self.candidates() {
            self.note(candidate.process, candidate.seen.block, reason);
        }
        Vec::new()
    }

    /// Returns the blocks that the policy would promote, sorted by process and number. Other blocks
    /// are counted as refusals.
    fn candidates(&mut self) -> Vec<PromotionCandidate> {
        let extent_free = self.extents() > 0;
        let short = self.shortage().is_any();
        let mut found = Vec::new();
        let mut refused = Vec::new();
        for (process, known) in &self.known {
            for (mapping, seen) in known.pages.mapped().filter(|(_, seen)| !seen.huge) {
                let used = known.used.get(&seen.block);
                let view = used::view(view(mapping, seen, extent_free, short), used);
                match self.verdict(known, mapping, seen, &view) {
                    Verdict::Promote => found.push(PromotionCandidate {
                        process: *process,
                        seen: *seen,
                        rank: self.rank(&view),
                    }),
                    Verdict::Stay(reason) => refused.push((*process, seen.block, reason)),
                    Verdict::Demote | Verdict::Pass => {}
                }
            }
        }
        for (process, block, reason) in refused {
            self.note(process, block, reason);
        }
        found
    }

    /// Returns the verdict on a block that is no superpage, before budgets.
    fn verdict(
        &self,
        known: &WardProcess,
        mapping: &LiveMapping,
        seen: &BlockSeen,
        view: &View,
    ) -> Verdict {
        if let Some(reason) = refusal_of(mapping) {
            return Verdict::Stay(reason);
        }
        let verdict = match (self.weighs_use, known.used.is_empty()) {
            (false, _) => self.policy.decide(Point::Fault, view),
            // Before the first measurement, nothing is known that the policy could weigh.
            (true, true) => Verdict::Pass,
            (true, false) => self.policy.decide(Point::Scan, view),
        };
        if verdict != Verdict::Promote {
            return verdict;
        }
        let mark = known.marks.get(&seen.block);
        if known.unreachable {
            Verdict::Stay(Refusal::Unreachable)
        } else if seen.present == 0 && seen.swapped == 0 {
            // The kernel would make a superpage of an empty block.
            Verdict::Stay(Refusal::TooFewResident)
        } else if mark.is_some_and(|mark| mark.is_full_only()) && u32::from(seen.present) < PAGES {
            Verdict::Stay(Refusal::SplitByProgram)
        } else {
            let waits = mark.and_then(|mark| mark.waits(self.at));
            waits.map_or(Verdict::Promote, Verdict::Stay)
        }
    }

    /// Returns the rank of a candidate.
    fn rank(&self, view: &View) -> u64 {
        if self.weighs_use {
            self.policy.rank(view)
        } else {
            0
        }
    }

    /// Selects the candidates that may be promoted now, within the budget: those of the highest
    /// rank first, and of these the fullest.
    fn within_budget(
        &mut self,
        mut candidates: Vec<PromotionCandidate>,
        demoted: &[(ProcessId, u64)],
    ) -> Vec<PromotionCandidate> {
        candidates.sort_by_key(|candidate| {
            (
                Reverse(candidate.rank),
                candidate.seen.bytes_to_add(),
                candidate.process,
                candidate.seen.block,
            )
        });
        let mut left = self.left();
        // Demotions for the budget's sake make no room for promotions in the same tick.
        let breaks = demoted
            .iter()
            .any(|(process, block)| self.made(*process, *block));
        let mut extents = if breaks { 0 } else { self.extents() };
        let mut taken = Vec::new();
        for candidate in candidates {
            let added = candidate.seen.bytes_to_add();
            let refused = if added > 0 && self.thrift.waits(self.at) {
                Some(Refusal::MemoryShort)
            } else if added > left {
                Some(Refusal::OverBudget)
            } else if extents == 0 {
                Some(Refusal::NoExtent)
            } else {
                None
            };
            match refused {
                Some(reason) => self.note(candidate.process, candidate.seen.block, reason),
                None => {
                    left -= added;
                    extents -= 1;
                    taken.push(candidate);
                }
            }
        }
        taken.sort_by_key(|candidate| (candidate.process, candidate.seen.block));
        taken
    }

    /// Returns the number of extents that a tick may ask for.
    fn extents(&self) -> u64 {
        // The kernel counts a wait for moved pages as a wait for memory. Such a wait must not be
        // taken for a shortage.
        let calm =
            (self.machine.pressure).is_none_or(|pressure| pressure < self.budgets.pressure / 2);
        self.machine
            .free_blocks
            .max(if calm { BY_COMPACTION } else { 0 })
    }

    /// Returns the bytes that may be added.
    fn left(&self) -> u64 {
        self.budgets.left(
            &self.machine,
            self.cgroups(),
            self.held_bytes(),
            self.charged_bytes(),
        )
    }

    /// Counts a refusal of a block, if it is the first with this reason.
    pub(super) fn note(&mut self, process: ProcessId, block: u64, reason: Refusal) {
        if let Some(known) = self.known.get_mut(&process)
            && known.marks.entry(block).or_default().is_first(reason)
        {
            self.tally.refusals.count(reason);
        }
    }
}

/// Groups sorted candidates into runs of neighbours.
fn runs(candidates: Vec<PromotionCandidate>) -> Vec<PromotionRun> {
    let mut runs: Vec<PromotionRun> = Vec::new();
    for PromotionCandidate { process, seen, .. } in candidates {
        match runs.last_mut() {
            Some(run)
                if run.process == process
                    && run.blocks.end == seen.block
                    && run.present.len() < RUN =>
            {
                run.blocks.end += 1;
                run.present.push(seen.present);
            }
            _ => runs.push(PromotionRun {
                process,
                blocks: seen.block..seen.block + 1,
                present: vec![seen.present],
            }),
        }
    }
    runs
}
