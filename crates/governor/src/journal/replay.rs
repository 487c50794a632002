//! Going through a journal again: whether the same is decided, and what another policy would have come to.

use super::what_if::WhatIf;
use super::{Header, TickRecord};
use crate::budget::Budgets;
use crate::plan::Plan;
use crate::view::{OutOfReach, can_decide};
use crate::ward::{Tally, Ward};
use broadleaf_policy::{ParseError, Policy};
use std::fmt;
use std::time::Duration;

/// Why a journal cannot be gone through again.
#[derive(Debug, thiserror::Error)]
pub enum Unreplayable {
    /// Its policy is none of this version.
    #[error("the policy of the journal: {0}")]
    NoPolicy(#[from] ParseError),
    /// Its policy cannot decide on live processes.
    #[error(transparent)]
    OutOfReach(#[from] OutOfReach),
    /// The journal cannot be read further.
    #[error(transparent)]
    Journal(#[from] super::JournalError),
}

/// A tick in which something else is decided now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Which tick, counted from 1.
    pub tick: u64,
    /// When it was, since the governor began.
    pub at: Duration,
    /// What was decided then.
    pub then: Plan,
    /// What is decided now.
    pub now: Plan,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = |plan: &Plan| {
            let (promote, demote) = (plan.promotions(), plan.demote.len());
            format!("{promote} to promote and {demote} to break")
        };
        write!(
            f,
            "tick {}, {:.3} s after it began: {} then, {} now",
            self.tick,
            self.at.as_secs_f64(),
            plan(&self.then),
            plan(&self.now)
        )?;
        if self.then.promotions() == self.now.promotions()
            && self.then.demote.len() == self.now.demote.len()
        {
            write!(f, ", and others")?;
        }
        Ok(())
    }
}

/// What going through a journal under its own policy came to.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    /// Ticks that were gone through, that of the difference among them.
    pub ticks: u64,
    /// How long they took.
    pub time: Duration,
    /// The first tick in which something else is decided. There are none behind it: what came of it is not what would have.
    pub difference: Option<Difference>,
    /// What it came to.
    pub tally: Tally,
    /// Bytes in superpages at the end, whoever made them.
    pub huge_bytes: u64,
    /// Bytes that superpages added and that stood at the end.
    pub added_bytes: u64,
    /// The promotions that a tick had time for, on average over the ticks that ran out of time;
    /// `None` where none did.
    pub reach: Option<u64>,
}

/// Goes through a journal under its own policy and budgets. Each decision depends on what is in the journal alone, so each should be the same.
///
/// # Errors
/// Where its policy is none that decides on live processes, and those of `ticks`.
pub fn verify(
    header: &Header,
    ticks: impl IntoIterator<Item = Result<TickRecord, super::JournalError>>,
) -> Result<Verified, Unreplayable> {
    let policy = broadleaf_policy::parse(&header.policy)?;
    can_decide(policy.as_ref())?;
    let mut ward = Ward::new(policy, header.budgets);
    let mut verified = Verified::default();
    let (mut cut_short, mut promoted) = (0, 0);
    for tick in ticks {
        let tick = tick?;
        let tried = tick.outcomes.len().saturating_sub(tick.plan.demote.len()) as u64;
        if tried > 0 && tried < tick.plan.promotions() {
            cut_short += 1;
            promoted += tried;
        }
        verified.ticks += 1;
        verified.time = tick.seen.at;
        ward.see(tick.seen);
        let now = ward.decide();
        if now != tick.plan {
            verified.difference = Some(Difference {
                tick: verified.ticks,
                at: verified.time,
                then: tick.plan,
                now,
            });
            break;
        }
        if !header.dry {
            ward.learn(&tick.outcomes);
        }
    }
    verified.tally = ward.tally().clone();
    verified.huge_bytes = ward.huge_bytes();
    verified.added_bytes = ward.added_bytes();
    verified.reach = (cut_short > 0).then(|| promoted.div_ceil(cut_short));
    Ok(verified)
}

/// What a policy would have come to, by an estimate.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// The policy's name.
    pub policy: String,
    /// What it might have done.
    pub budgets: Budgets,
    /// What it would have come to.
    pub tally: Tally,
    /// Bytes in superpages at the end, whoever made them.
    pub huge_bytes: u64,
    /// Bytes that superpages added and that stood at the end.
    pub added_bytes: u64,
    /// Ticks that were gone through.
    pub ticks: u64,
}

/// Estimates the results of another policy, or of the same policy with other budgets.
///
/// Programs behave as recorded: superpages make them no faster, and their faults stay the same. A
/// block that the policy promotes becomes a superpage, unless the recorded run tried the block and
/// was refused. A block that only the recorded run promoted keeps the pages that it held before. A
/// superpage that exists only in the estimate is broken when its block loses a page. Stores inside
/// a recorded superpage are unknown: a filling block continues as fast as before, and other blocks
/// do not change. `reach` is the number of promotions that fit into a tick, as [`verify`] finds it.
///
/// # Errors
/// If the policy cannot decide on live processes, and those of `ticks`.
pub fn under(
    policy: Box<dyn Policy>,
    budgets: Budgets,
    header: &Header,
    reach: Option<u64>,
    ticks: impl IntoIterator<Item = Result<TickRecord, super::JournalError>>,
) -> Result<Estimate, Unreplayable> {
    can_decide(policy.as_ref())?;
    let name = policy.name();
    let mut what_if = WhatIf::new(Ward::new(policy, budgets), header.dry, reach);
    let mut count = 0;
    for tick in ticks {
        what_if.tick(&tick?);
        count += 1;
    }
    let ward = what_if.into_ward();
    Ok(Estimate {
        policy: name,
        budgets,
        tally: ward.tally().clone(),
        huge_bytes: ward.huge_bytes(),
        added_bytes: ward.added_bytes(),
        ticks: count,
    })
}
