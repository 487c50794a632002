//! Repeats a journal's decisions: under its own policy as a check, or under another policy as an
//! estimate.

use super::what_if::WhatIf;
use super::{Header, TickRecord};
use crate::budget::Budgets;
use crate::plan::TickPlan;
use crate::view::{OutOfReach, can_decide, can_decide_by_use, weighs_use};
use crate::ward::{Tally, Ward};
use broadleaf_policy::{ParseError, Policy};
use std::fmt;
use std::time::Duration;

/// The reason for which a journal cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum Unreplayable {
    /// This version does not know the journal's policy.
    #[error("the policy of the journal: {0}")]
    NoPolicy(#[from] ParseError),
    /// The policy cannot decide on live processes.
    #[error(transparent)]
    OutOfReach(#[from] OutOfReach),
    /// The journal cannot be read to its end.
    #[error(transparent)]
    Journal(#[from] super::JournalError),
}

/// A tick with a different decision now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The number of the tick, counted from 1.
    pub tick: u64,
    /// The time of the tick, since the start of the governor.
    pub at: Duration,
    /// The decision in the journal.
    pub then: TickPlan,
    /// The decision now.
    pub now: TickPlan,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = |plan: &TickPlan| {
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

/// The result of a replay under the journal's own policy.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    /// The number of replayed ticks, including the tick with the difference.
    pub ticks: u64,
    /// The time from the start to the last replayed tick.
    pub time: Duration,
    /// The first tick with a different decision. The replay stops there, because the later outcomes
    /// belong to another decision.
    pub difference: Option<Difference>,
    /// The totals of the run.
    pub tally: Tally,
    /// Bytes in superpages at the end, of any origin.
    pub huge_bytes: u64,
    /// Bytes that superpages added and that were still there at the end.
    pub added_bytes: u64,
    /// The promotions that a tick has time for: the average over the ticks that ran out of time.
    /// `None` if no tick ran out of time.
    pub reach: Option<u64>,
}

/// Replays a journal under its own policy and budgets. Each decision depends on the journal alone,
/// so each decision should be equal.
///
/// # Errors
/// Returns an error if the policy cannot decide on live processes, and the errors of `ticks`.
pub fn verify(
    header: &Header,
    ticks: impl IntoIterator<Item = Result<TickRecord, super::JournalError>>,
) -> Result<Verified, Unreplayable> {
    let policy = broadleaf_policy::parse(&header.policy)?;
    can_decide_by_use(policy.as_ref())?;
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

/// The estimated result of a policy.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// The policy's name.
    pub policy: String,
    /// The budgets of the estimate.
    pub budgets: Budgets,
    /// The estimated totals.
    pub tally: Tally,
    /// Bytes in superpages at the end, of any origin.
    pub huge_bytes: u64,
    /// Bytes that superpages added and that were still there at the end.
    pub added_bytes: u64,
    /// The number of replayed ticks.
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
/// Returns an error if the policy cannot decide on live processes, and the errors of `ticks`.
pub fn under(
    policy: Box<dyn Policy>,
    budgets: Budgets,
    header: &Header,
    reach: Option<u64>,
    ticks: impl IntoIterator<Item = Result<TickRecord, super::JournalError>>,
) -> Result<Estimate, Unreplayable> {
    // The journal of a policy that weighs use holds the use of blocks.
    match weighs_use(broadleaf_policy::parse(&header.policy)?.as_ref()) {
        true => can_decide_by_use(policy.as_ref())?,
        false => can_decide(policy.as_ref())?,
    }
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
