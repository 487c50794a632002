//! What is to be done, by what is known.

use super::{Known, Ward};
use crate::plan::{Plan, Run};
use crate::seen::{BlockSeen, Mapping, PAGES, ProcessId};
use crate::view::{refusal_of, view};
use broadleaf_policy::{Point, Refusal, Verdict};

/// Blocks of a run at most, so that budgets and the clock are looked at between two runs.
const RUN: usize = 16;

/// Blocks tried in a tick for which no extent is free: the kernel may make room by moving pages, in the governor's time and not in the program's. It says when it
/// cannot, and then nothing is tried for a while.
const BY_COMPACTION: u64 = 16;

/// A block that the policy would promote.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    process: ProcessId,
    seen: BlockSeen,
}

impl Ward {
    /// What is to be done now. Demotions come first: they make room.
    pub fn decide(&mut self) -> Plan {
        if !self.is_due() {
            return Plan::default();
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
        Plan {
            demote,
            promote: runs(promote),
        }
    }

    /// Refuses every candidate for one reason.
    fn refuse_all(&mut self, reason: Refusal) -> Vec<Candidate> {
        for candidate in self.candidates() {
            self.note(candidate.process, candidate.seen.block, reason);
        }
        Vec::new()
    }

    /// The blocks that the policy would promote, by process and number. Others are refused by name.
    fn candidates(&mut self) -> Vec<Candidate> {
        let extent_free = self.extents() > 0;
        let short = self.shortage().is_any();
        let mut found = Vec::new();
        let mut refused = Vec::new();
        for (process, known) in &self.known {
            for (mapping, seen) in known.pages.mapped().filter(|(_, seen)| !seen.huge) {
                match self.verdict(known, mapping, seen, extent_free, short) {
                    Verdict::Promote => found.push(Candidate {
                        process: *process,
                        seen: *seen,
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

    /// What is to become of a block that is no superpage, budgets aside.
    fn verdict(
        &self,
        known: &Known,
        mapping: &Mapping,
        seen: &BlockSeen,
        extent_free: bool,
        short: bool,
    ) -> Verdict {
        if let Some(reason) = refusal_of(mapping) {
            return Verdict::Stay(reason);
        }
        let verdict = self
            .policy
            .decide(Point::Fault, &view(mapping, seen, extent_free, short));
        if verdict != Verdict::Promote {
            return verdict;
        }
        let mark = known.marks.get(&seen.block);
        if known.unreachable {
            Verdict::Stay(Refusal::Unreachable)
        } else if seen.present == 0 && seen.swapped == 0 {
            // The kernel would make a superpage of nothing at all.
            Verdict::Stay(Refusal::TooFewResident)
        } else if mark.is_some_and(|mark| mark.is_full_only()) && u32::from(seen.present) < PAGES {
            Verdict::Stay(Refusal::SplitByProgram)
        } else {
            let waits = mark.and_then(|mark| mark.waits(self.at));
            waits.map_or(Verdict::Promote, Verdict::Stay)
        }
    }

    /// Those that may be promoted now: the fullest first, as far as the budget goes.
    fn within_budget(
        &mut self,
        mut candidates: Vec<Candidate>,
        demoted: &[(ProcessId, u64)],
    ) -> Vec<Candidate> {
        candidates.sort_by_key(|candidate| {
            (
                candidate.seen.bytes_to_add(),
                candidate.process,
                candidate.seen.block,
            )
        });
        let mut left = self.left();
        // What is to be broken for the budget's sake makes no room for others in the same tick.
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

    /// How many extents may be asked for.
    fn extents(&self) -> u64 {
        // Waiting for pages to be moved counts as waiting for memory, and is not to be mistaken for a shortage.
        let calm =
            (self.machine.pressure).is_none_or(|pressure| pressure < self.budgets.pressure / 2);
        self.machine
            .free_blocks
            .max(if calm { BY_COMPACTION } else { 0 })
    }

    /// Bytes that may be added.
    fn left(&self) -> u64 {
        self.budgets.left(
            &self.machine,
            self.cgroups(),
            self.held_bytes(),
            self.charged_bytes(),
        )
    }

    /// Counts that a block stays as it is, if it is the first time for this reason.
    pub(super) fn note(&mut self, process: ProcessId, block: u64, reason: Refusal) {
        if let Some(known) = self.known.get_mut(&process)
            && known.marks.entry(block).or_default().is_first(reason)
        {
            self.tally.refusals.count(reason);
        }
    }
}

/// Candidates in order, as runs of neighbours.
fn runs(candidates: Vec<Candidate>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for Candidate { process, seen } in candidates {
        match runs.last_mut() {
            Some(run)
                if run.process == process
                    && run.blocks.end == seen.block
                    && run.present.len() < RUN =>
            {
                run.blocks.end += 1;
                run.present.push(seen.present);
            }
            _ => runs.push(Run {
                process,
                blocks: seen.block..seen.block + 1,
                present: vec![seen.present],
            }),
        }
    }
    runs
}
