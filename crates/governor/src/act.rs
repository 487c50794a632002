//! Doing what was decided, and finding out what came of it.

use crate::kernel::{Kernel, No};
use crate::plan::{Came, Outcome, Plan, Run};
use crate::seen::{Behind, BlockSeen, Mapping, ProcessId};
use crate::ward::Ward;
use broadleaf_policy::Refusal;
use std::time::Duration;

/// What was done in a tick.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// What came of each block that was come to.
    pub outcomes: Vec<Outcome>,
}

/// Carries out a plan, and stops before the next run when `for_at_most` has passed.
pub(crate) fn carry_out(
    kernel: &mut impl Kernel,
    ward: &Ward,
    plan: &Plan,
    for_at_most: Duration,
) -> Done {
    let began = kernel.now();
    let mut done = Done::default();
    for (process, block) in &plan.demote {
        let came = demote(kernel, *process, *block);
        done.outcomes.push(Outcome {
            process: *process,
            block: *block,
            came,
        });
    }
    for run in &plan.promote {
        if kernel.now().saturating_sub(began) >= for_at_most {
            break;
        }
        promote(kernel, ward, run, &mut done.outcomes);
    }
    done
}

fn demote(kernel: &mut impl Kernel, process: ProcessId, block: u64) -> Came {
    let answer = kernel.split(process, block);
    // The kernel says yes where it left the superpage alone, so the block is looked at.
    match (answer, kernel.blocks(process, block..block + 1).as_deref()) {
        (Err(No::Gone), _) | (_, Err(No::Gone)) => Came::Gone,
        (_, Ok([seen])) if !seen.huge => Came::Demoted(*seen),
        _ => Came::Stands,
    }
}

fn promote(kernel: &mut impl Kernel, ward: &Ward, run: &Run, outcomes: &mut Vec<Outcome>) {
    let process = run.process;
    let mut tell = |block: u64, came: Came| {
        outcomes.push(Outcome {
            process,
            block,
            came,
        })
    };
    let mut fit: Vec<(u64, u16)> = Vec::with_capacity(run.present.len());
    for (block, decided) in run.blocks.clone().zip(&run.present) {
        match shared(kernel, ward, process, block) {
            None => fit.push((block, *decided)),
            Some(came) => tell(block, came),
        }
    }
    for neighbours in fit.chunk_by(|one, next| one.0 + 1 == next.0) {
        for (block, came) in promote_neighbours(kernel, process, neighbours) {
            tell(block, came);
        }
    }
}

/// Whether a block stays as it is because a fork shares pages of it: a superpage would be a copy of its own.
fn shared(kernel: &mut impl Kernel, ward: &Ward, process: ProcessId, block: u64) -> Option<Came> {
    let mappings = &ward.pages(process)?.mappings;
    let mapping = Mapping::of_block(mappings, block)?;
    if mapping.behind != Behind::Anonymous {
        return None;
    }
    match kernel.shared(process, block) {
        Ok(0) => None,
        Ok(_) => Some(Came::Refused(Refusal::TooManyShared)),
        Err(no) => Some(answer(no)),
    }
}

/// Makes superpages of neighbours, given by number and by the pages that each held when it was decided on.
fn promote_neighbours(
    kernel: &mut impl Kernel,
    process: ProcessId,
    neighbours: &[(u64, u16)],
) -> Vec<(u64, Came)> {
    let (Some(first), Some(last)) = (neighbours.first(), neighbours.last()) else {
        return Vec::new();
    };
    // Time has passed since it was decided on, and the kernel would make a superpage of a block that was given back meanwhile. Nothing stands between
    // this look and the deed.
    let before = match kernel.blocks(process, first.0..last.0 + 1) {
        Ok(before) => before,
        Err(no) => {
            let each = neighbours.iter();
            return each.map(|(block, _)| (*block, answer(no))).collect();
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
        came.extend(collapse(kernel, process, neighbours));
    }
    came
}

/// Makes superpages of neighbours, and says what came of each.
fn collapse(
    kernel: &mut impl Kernel,
    process: ProcessId,
    neighbours: &[BlockSeen],
) -> Vec<(u64, Came)> {
    let (Some(first), Some(last)) = (neighbours.first(), neighbours.last()) else {
        return Vec::new();
    };
    let promoted = |seen: &BlockSeen| (seen.block, Came::Promoted(*seen));
    let Err(no) = kernel.collapse(process, first.block..last.block + 1) else {
        return neighbours.iter().map(promoted).collect();
    };
    if neighbours.len() == 1 || no == No::Gone {
        return neighbours
            .iter()
            .map(|seen| (seen.block, answer(no)))
            .collect();
    }
    // One answer for all of them: some may be superpages now. The others are tried one by one, so that each has its own.
    let now = match kernel.blocks(process, first.block..last.block + 1) {
        Ok(now) => now,
        Err(no) => {
            return neighbours
                .iter()
                .map(|seen| (seen.block, answer(no)))
                .collect();
        }
    };
    // Where there is no memory for one, there is none for the next.
    let mut exhausted = None;
    let each = neighbours.iter().zip(&now);
    each.map(|(seen, now)| {
        if now.huge {
            return promoted(seen);
        }
        if now.present < seen.present {
            return (seen.block, Came::Refused(Refusal::Changed));
        }
        if let Some(no) = exhausted {
            return (seen.block, answer(no));
        }
        match kernel.collapse(process, seen.block..seen.block + 1) {
            Ok(()) => promoted(seen),
            Err(no) => {
                if no == No::Errno(libc::ENOMEM) {
                    exhausted = Some(no);
                }
                (seen.block, answer(no))
            }
        }
    })
    .collect()
}

/// What an answer of the kernel means for a block.
fn answer(no: No) -> Came {
    match no {
        No::Gone => Came::Gone,
        No::NotAllowed | No::KernelThread => Came::Refused(Refusal::Unreachable),
        // Too many open files are no fault of the block's.
        No::Errno(libc::EAGAIN | libc::EMFILE | libc::ENFILE) => Came::Refused(Refusal::Busy),
        No::Errno(libc::ENOMEM) => Came::Refused(Refusal::NoExtent),
        No::Errno(libc::EBUSY) => Came::Refused(Refusal::NoCharge),
        No::Errno(_) => Came::Refused(Refusal::NotCollapsible),
    }
}
