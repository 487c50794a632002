//! The planner: chooses the quick path if it covers the plan, and the model if not.

use crate::covers::{WhyNot, covers};
use crate::feed::ListPool;
use crate::passes::QuickPasses;
use crate::quick;
use broadleaf_model::foresight::ForeseenPromotions;
use broadleaf_model::{
    Error, MOST_EARLIER, MemoryLimits, Outcome, Plan, ReplayProgress, Source, Sources, named,
};
use broadleaf_policy::{Foresight, Policy};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Replays a trace under every policy and machine of a plan.
///
/// Takes one pass over the trace, and one more if a policy has foresight, or may have in limited
/// memory. If the trace lists the mappings of an address space only after references to the space,
/// the pass starts again. `progress` is called many times a second, and stops the replay with
/// [`ControlFlow::Break`].
///
/// # Errors
/// Returns an error if the source fails, the trace holds an address or a number that the model
/// cannot take, or `progress` stops. A trace of a whole system is refused if a policy needs the
/// promotions of another policy beforehand.
pub fn run<S: Source>(
    source: &mut S,
    plan: &Plan,
    progress: &mut dyn FnMut(ReplayProgress) -> ControlFlow<()>,
) -> Result<Outcome, Error<S::Error>> {
    run_after(&mut [], source, plan, progress)
}

/// Replays a trace in memory that earlier traces have used in turn. The trace begins with the
/// memory and the TLBs that they left. Their accesses are not counted. Their processes live on if
/// they have not ended. A file that two traces name by the same path is one file.
///
/// # Errors
/// Returns the errors of [`run`]. Returns an error as well if there are earlier traces and memory
/// has no frames, or there are too many earlier traces.
pub fn run_after<S: Source>(
    earlier: &mut [S],
    source: &mut S,
    plan: &Plan,
    progress: &mut dyn FnMut(ReplayProgress) -> ControlFlow<()>,
) -> Result<Outcome, Error<S::Error>> {
    let quick = match source.holds_system() {
        true => Err(WhyNot::System),
        false => covers(plan),
    };
    check_foresight(earlier, source, plan)?;
    let unlimited = MemoryLimits {
        code: plan.translates_fetches(),
        ..MemoryLimits::none()
    };
    let limits = match (plan.limits(), &quick) {
        (Some(limits), _) => Some(limits),
        (None, Ok(())) => None,
        (None, Err(_)) => Some(&unlimited),
    };
    if !earlier.is_empty() && limits.is_none() {
        return Err(Error::Memory(
            "earlier traces need memory that is modelled down to the frame".to_string(),
        ));
    }
    if earlier.len() > MOST_EARLIER {
        return Err(Error::Memory(format!(
            "at most {} traces may run before another",
            MOST_EARLIER
        )));
    }
    let passes = match limits {
        Some(_) if !plan.foreseen().is_empty() => 2 + earlier.len() as u32,
        // The first pass shows whether a policy foresees anything.
        _ => 1,
    };
    let mut passes = QuickPasses {
        progress,
        state: ReplayProgress {
            pass: 0,
            passes,
            earlier: None,
            trial: None,
            accesses: 0,
        },
        listed: BTreeSet::new(),
        plan,
        pool: plan.pool().map_err(|reason| Error::NoThreads {
            threads: plan.threads(),
            reason,
        })?,
        lists: ListPool::default(),
    };
    let Some(limits) = limits else {
        return quick::run(&mut passes, source, plan);
    };
    let mut before = ForeseenPromotions::new();
    for (number, source) in earlier.iter_mut().enumerate() {
        passes.state.earlier = Some(number);
        let foresight = quick::foresee(&mut passes, source, plan)?;
        for (policy, promoted) in foresight {
            let named = named(promoted, number)?;
            before.entry(policy).or_default().extend(named);
        }
    }
    passes.state.earlier = None;
    let mut foresight = quick::foresee(&mut passes, source, plan)?;
    for (policy, promoted) in before {
        foresight.entry(policy).or_default().extend(promoted);
    }
    let QuickPasses {
        progress,
        state,
        pool,
        lists,
        ..
    } = passes;
    drop(lists);
    let sources = Sources {
        read: state.pass > 0,
        earlier,
        last: source,
    };
    broadleaf_model::run(sources, plan, limits, &foresight, &pool, state, progress)
}

/// Returns an error if a policy needs foreseen promotions, and a trace holds a whole system. The
/// pass that finds promotions does not know the recorded page tables.
fn check_foresight<S: Source>(
    earlier: &[S],
    source: &S,
    plan: &Plan,
) -> Result<(), Error<S::Error>> {
    let mut sources = earlier.iter().chain([source]);
    let has_foresight = |policy: &&dyn Policy| matches!(policy.needs().foresight, Foresight::Of(_));
    let mut policies = plan
        .policies()
        .iter()
        .map(AsRef::as_ref)
        .filter(has_foresight);
    match policies.next() {
        Some(policy) if sources.any(Source::holds_system) => Err(Error::Memory(format!(
            "the policy {} needs the promotions of another policy beforehand, and a trace of a \
             whole system does not give them: leave this policy out",
            policy.name()
        ))),
        _ => Ok(()),
    }
}
