//! Carries out a plan and collects the outcomes.

use crate::kernel::{Kernel, KernelError};
use crate::plan::{Came, Outcome, PromotionRun, TickPlan};
use crate::seen::{BlockSeen, LiveBacking, LiveMapping, ProcessId};
use crate::stalls::Stalls;
use crate::ward::Ward;
use broadleaf_policy::Refusal;
use std::time::Duration;

/// The actions of a tick.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// The outcome of each block that the tick reached.
    pub outcomes: Vec<Outcome>,
}

/// The limits of one tick's actions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActionLimits {
    /// No run of blocks begins after this time.
    pub(crate) for_at_most: Duration,
    /// The longest time that one call of the kernel may take.
    pub(crate) longest_stall: Option<Duration>,
}

/// The time of a call of the kernel.
#[derive(Clone, Copy)]
struct Call {
    ended: Duration,
    took: Duration,
}

/// Promotes and demotes blocks, and measures the time of each kernel call.
struct Hands<'a, K> {
    kernel: &'a mut K,
    limits: ActionLimits,
    stalls: &'a mut Stalls,
}

/// Carries out a plan, and stops before the next run when the time is over.
pub(crate) fn carry_out(
    kernel: &mut impl Kernel,
    ward: &Ward,
    plan: &TickPlan,
    limits: ActionLimits,
    stalls: &mut Stalls,
) -> Done {
    let began = kernel.now();
    let mut hands = Hands {
        kernel,
        limits,
        stalls,
    };
    let mut done = Done::default();
    for (process, block) in &plan.demote {
        let came = hands.demote(*process, *block);
        done.outcomes.push(Outcome {
            process: *process,
            block: *block,
            came,
        });
    }
    for run in &plan.promote {
        if hands.kernel.now().saturating_sub(began) >= limits.for_at_most {
            break;
        }
        hands.promote(ward, run, &mut done.outcomes);
    }
    done
}

impl<K: Kernel> Hands<'_, K> {
    fn demote(&mut self, process: ProcessId, block: u64) -> Came {
        let (answer, call) = self.timed(|kernel| kernel.split(process, block));
        // The time of a split is no estimate for the time of a promotion.
        self.note_in_vain(1, call);
        // The kernel reports success even if it left the superpage alone, so the block is read
        // again.
        match (
            answer,
            self.kernel.blocks(process, block..block + 1).as_deref(),
        ) {
            (Err(KernelError::Gone), _) | (_, Err(KernelError::Gone)) => Came::Gone,
            (_, Ok([seen])) if !seen.huge => Came::Demoted(*seen),
            _ => Came::StillHuge,
        }
    }

    /// Calls the kernel and takes the time of the call.
    fn timed<T>(&mut self, call: impl FnOnce(&mut K) -> T) -> (T, Call) {
        let began = self.kernel.now();
        let answer = call(self.kernel);
        let ended = self.kernel.now();
        let took = ended.saturating_sub(began);
        (answer, Call { ended, took })
    }

    /// Notes a call that made superpages of `blocks` blocks.
    fn note(&mut self, blocks: usize, call: Call) {
        let longest = self.limits.longest_stall;
        self.stalls.note(call.ended, blocks, call.took, longest);
    }

    /// Notes a call for `blocks` blocks that made no superpage.
    fn note_in_vain(&mut self, blocks: usize, call: Call) {
        let longest = self.limits.longest_stall;
        (self.stalls).note_in_vain(call.ended, blocks, call.took, longest);
    }

    fn promote(&mut self, ward: &Ward, run: &PromotionRun, outcomes: &mut Vec<Outcome>) {
        let process = run.process;
        let mut push = |block: u64, came: Came| {
            outcomes.push(Outcome {
                process,
                block,
                came,
            })
        };
        let mut fit: Vec<(u64, u16)> = Vec::with_capacity(run.present.len());
        for (block, decided) in run.blocks.clone().zip(&run.present) {
            match shared(self.kernel, ward, process, block) {
                None => fit.push((block, *decided)),
                Some(came) => push(block, came),
            }
        }
        for neighbours in fit.chunk_by(|one, next| one.0 + 1 == next.0) {
            for (block, came) in self.promote_neighbours(process, neighbours) {
                push(block, came);
            }
        }
    }

    /// Promotes neighbouring blocks. Each is given by its number and by its resident pages at the
    /// time of the decision.
    fn promote_neighbours(
        &mut self,
        process: ProcessId,
        neighbours: &[(u64, u16)],
    ) -> Vec<(u64, Came)> {
        let (Some(first), Some(last)) = (neighbours.first(), neighbours.last()) else {
            return Vec::new();
        };
        // Time has passed since the decision, and the kernel would also promote a block that the
        // program gave back meanwhile. So the blocks are checked immediately before the call.
        let before = match self.kernel.blocks(process, first.0..last.0 + 1) {
            Ok(before) => before,
            Err(no) => {
                let each = neighbours.iter();
                return each
                    .map(|(block, _)| (*block, self.answer(process, *block, no)))
                    .collect();
            }
        };
        let mut came = Vec::with_capacity(before.len());
        let mut fit: Vec<BlockSeen> = Vec::with_capacity(before.len());
        for (seen, (_, decided)) in before.iter().zip(neighbours) {
            if seen.huge {
                came.push((seen.block, Came::WasHuge));
            } else if seen.present < *decided {
                came.push((seen.block, Came::Refused(Refusal::Changed)));
            } else {
                fit.push(*seen);
            }
        }
        for neighbours in fit.chunk_by(|one, next| one.block + 1 == next.block) {
            let mut left = neighbours;
            while !left.is_empty() {
                if self.stalls.waits(self.kernel.now()) {
                    let each = left.iter();
                    came.extend(each.map(|seen| (seen.block, TOO_LONG)));
                    break;
                }
                let blocks = self.stalls.blocks(self.limits.longest_stall);
                let (now, later) = left.split_at(blocks.min(left.len()));
                came.extend(self.collapse(process, now));
                left = later;
            }
        }
        came
    }

    /// Promotes neighbouring blocks. Returns the outcome of each.
    fn collapse(&mut self, process: ProcessId, neighbours: &[BlockSeen]) -> Vec<(u64, Came)> {
        let (Some(first), Some(last)) = (neighbours.first(), neighbours.last()) else {
            return Vec::new();
        };
        let blocks = first.block..last.block + 1;
        let (answered, call) = self.timed(|kernel| kernel.collapse(process, blocks.clone()));
        let Err(no) = answered else {
            self.note(neighbours.len(), call);
            return neighbours.iter().map(promoted).collect();
        };
        if neighbours.len() == 1 || no == KernelError::Gone {
            self.note_in_vain(neighbours.len(), call);
            return self.answers(process, neighbours, no);
        }
        // One answer for all blocks: some may be superpages now. The other blocks are tried one by
        // one, so that each has its own answer.
        let now = self.kernel.blocks(process, blocks);
        match (now.iter().flatten()).filter(|now| now.huge).count() {
            0 => self.note_in_vain(neighbours.len(), call),
            // The refused blocks took little of the time.
            made => self.note(made, call),
        }
        let now = match now {
            Ok(now) => now,
            Err(no) => return self.answers(process, neighbours, no),
        };
        // If memory is exhausted for one block, it is exhausted for the next.
        let mut exhausted = None;
        let mut came = Vec::with_capacity(neighbours.len());
        for (seen, now) in neighbours.iter().zip(&now) {
            let block = seen.block;
            let of_block = if now.huge {
                promoted(seen).1
            } else if now.present < seen.present {
                Came::Refused(Refusal::Changed)
            } else if let Some(no) = exhausted {
                self.answer(process, block, no)
            } else if self.stalls.waits(self.kernel.now()) {
                TOO_LONG
            } else {
                let one = block..block + 1;
                match self.timed(|kernel| kernel.collapse(process, one)) {
                    (Ok(()), call) => {
                        self.note(1, call);
                        promoted(seen).1
                    }
                    (Err(no), call) => {
                        self.note_in_vain(1, call);
                        exhausted = Some(no).filter(|no| *no == KernelError::Errno(libc::ENOMEM));
                        self.answer(process, block, no)
                    }
                }
            };
            came.push((block, of_block));
        }
        came
    }

    /// Converts one answer of the kernel to an outcome for each block.
    fn answers(
        &mut self,
        process: ProcessId,
        blocks: &[BlockSeen],
        no: KernelError,
    ) -> Vec<(u64, Came)> {
        let each = blocks.iter();
        each.map(|seen| (seen.block, self.answer(process, seen.block, no)))
            .collect()
    }

    /// Converts an answer of the kernel to a block's outcome. The kernel returns the same numbers
    /// for memory that allows no superpage, so the mapping's flags are checked.
    fn answer(&mut self, process: ProcessId, block: u64, no: KernelError) -> Came {
        if let KernelError::Errno(libc::EBUSY | libc::EINVAL) = no
            && let Some(refusal) = self.kernel.ruled_out(process, block)
        {
            return Came::Refused(refusal);
        }
        answer(no)
    }
}

/// The block waits because another one took too long.
const TOO_LONG: Came = Came::Refused(Refusal::StallTooLong);

const fn promoted(seen: &BlockSeen) -> (u64, Came) {
    (seen.block, Came::Promoted(*seen))
}

/// Returns an outcome if a block stays as it is because a fork shares some of its pages. A
/// superpage would be a private copy of the shared pages.
fn shared(kernel: &mut impl Kernel, ward: &Ward, process: ProcessId, block: u64) -> Option<Came> {
    let mappings = &ward.pages(process)?.mappings;
    let mapping = LiveMapping::of_block(mappings, block)?;
    if mapping.backing != LiveBacking::Anonymous {
        return None;
    }
    match kernel.shared(process, block) {
        Ok(0) => None,
        Ok(_) => Some(Came::Refused(Refusal::TooManyShared)),
        Err(no) => Some(answer(no)),
    }
}

/// Converts an answer of the kernel to the outcome of a block.
fn answer(no: KernelError) -> Came {
    match no {
        KernelError::Gone => Came::Gone,
        KernelError::NotAllowed | KernelError::KernelThread => Came::Refused(Refusal::Unreachable),
        // Too many open files are a problem of this process, not of the block.
        KernelError::Errno(libc::EAGAIN | libc::EMFILE | libc::ENFILE) => {
            Came::Refused(Refusal::Busy)
        }
        KernelError::Errno(libc::ENOMEM) => Came::Refused(Refusal::NoExtent),
        KernelError::Errno(libc::EBUSY) => Came::Refused(Refusal::NoCharge),
        KernelError::Errno(_) => Came::Refused(Refusal::NotCollapsible),
    }
}
