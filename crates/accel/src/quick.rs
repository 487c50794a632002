//! The quick path: many policies over one filtered stream, in memory that never runs short.

use crate::cell::Cell;
use crate::kept::Kept;
use crate::members::MOST_MEMBERS;
use crate::passes::{PassResult, QuickPasses};
use crate::result;
use crate::team::Team;
use broadleaf_model::foresight::{Foresight, Promoted};
use broadleaf_model::{Error, Outcome, Plan, Source};
use broadleaf_policy::Policy;

/// Replays a plan in memory that never runs short.
///
/// The first pass replays all policies, and finds the promotions that some of them foresee.
/// Policies with foresight run as if they foresaw nothing. Beside a policy that promotes nothing
/// they add little work, since they look up the same pages. If all policies have foresight, they
/// wait for the second pass. If nothing is foreseen, the first pass is enough. Otherwise these
/// policies alone are replayed again.
///
/// A plan can have expected promotions, which an earlier comparison found. The policies with
/// foresight then use the expected promotions in the first pass, and the pass finds the real ones.
/// A policy is replayed again only if its real promotions differ from the expected ones.
pub(crate) fn run<S: Source>(
    passes: &mut QuickPasses<'_>,
    source: &mut S,
    plan: &Plan,
) -> Result<Outcome, Error<S::Error>> {
    let policies: Vec<&dyn Policy> = plan.policies().iter().map(AsRef::as_ref).collect();
    let foresees = |policy: &dyn Policy| policy.needs().foresight.policy();
    let expected = |policy: &dyn Policy| foresees(policy).and_then(|name| plan.expected(name));
    let waits = |policy: &dyn Policy| foresees(policy).is_some() && expected(policy).is_none();
    let all_wait = policies.iter().all(|&policy| waits(policy));
    let at_once = if all_wait { &[][..] } else { &policies[..] };
    let is_at_once = |name: &str| at_once.iter().any(|policy| policy.name() == name);
    let baseline = plan.baseline().name();
    let (mut outcome, first, faults, foresight, kept) = loop {
        let cells = at_once
            .iter()
            .map(|&policy| match plan.is_foreseen(policy) {
                true => Cell::new(policy, expected(policy)).remembering(),
                false => Cell::new(policy, expected(policy)),
            });
        let mut teams = teams(cells.collect(), plan);
        let mut beside = remembering(plan);
        beside.retain(|cell| !is_at_once(&cell.policy.name()));
        if !is_at_once(&baseline) {
            // Only the baseline's faults are needed.
            beside.push(Cell::new(plan.baseline(), None));
        }
        let count = teams.len();
        if !beside.is_empty() {
            teams.push(Team::new(beside, &[]));
        }
        // A second pass reads what the first one kept. A plan may also want it for later replays.
        let wait = policies.iter().any(|&policy| waits(policy));
        let wanted = wait || plan.keeps_reduced();
        // Curves follow visits that are not kept. A reduced form is not written once more.
        let keeps = wanted && !plan.curves() && !source.is_reduced();
        let kept = Kept::new(plan.most_kept()).only_few(!wait);
        let keeps = keeps.then(|| kept.only_read_soon(!plan.keeps_reduced()));
        if let Some(replayed) = passes.replay(source, teams, keeps)? {
            let PassResult {
                stream,
                kept,
                teams,
            } = replayed;
            let faults = result::faults_of(&baseline, &teams);
            let results = result::of_policies(&teams[..count], &stream, faults);
            let outcome = result::outcome(&stream);
            break (outcome, results, faults, promoted(teams), kept);
        }
    };
    let foreseen = |policy: &dyn Policy| foresees(policy).and_then(|name| foresight.get(name));
    let nothing = Promoted::new();
    let is_settled = |policy: &dyn Policy| {
        !all_wait && foreseen(policy).unwrap_or(&nothing) == expected(policy).unwrap_or(&nothing)
    };
    let mut again = policies.clone();
    again.retain(|&policy| !is_settled(policy));
    let mut second = Vec::new().into_iter();
    if !again.is_empty() {
        passes.state.passes += 1;
        second = loop {
            let cells = again
                .iter()
                .map(|&policy| Cell::new(policy, foreseen(policy)));
            let teams = teams(cells.collect(), plan);
            let replayed = match &kept {
                None => passes.replay(source, teams, None)?,
                Some(kept) => replay_kept(passes, kept, teams)?,
            };
            if let Some(PassResult { stream, teams, .. }) = replayed {
                break result::of_policies(&teams, &stream, faults).into_iter();
            }
        };
    }
    let mut first = first.into_iter();
    for policy in policies {
        let found = first.next().filter(|_| is_settled(policy));
        let found = found.or_else(|| second.next());
        outcome.results.extend(found.into_iter().flatten());
    }
    outcome.foreseen = foresight;
    if plan.keeps_reduced() {
        outcome.reduced = kept.and_then(Kept::into_parts);
    }
    Ok(outcome)
}

/// Replays the visits that an earlier pass kept.
fn replay_kept<'t, E>(
    passes: &mut QuickPasses<'_>,
    kept: &Kept,
    teams: Vec<Team<'t>>,
) -> Result<Option<PassResult<'t>>, Error<E>> {
    let replayed = passes.replay(&mut kept.source(), teams, None);
    replayed.map_err(|error| match error {
        Error::Source(error) => Error::Kept(error.to_string()),
        Error::Kept(why) => Error::Kept(why),
        Error::Address { address } => Error::Address { address },
        Error::BlockNumbers { limit } => Error::BlockNumbers { limit },
        Error::TooManyBlocks {
            blocks,
            policies,
            limit,
        } => Error::TooManyBlocks {
            blocks,
            policies,
            limit,
        },
        Error::NoRoom {
            needed,
            limit,
            blocks,
            policies,
        } => Error::NoRoom {
            needed,
            limit,
            blocks,
            policies,
        },
        Error::NoThreads { threads, reason } => Error::NoThreads { threads, reason },
        Error::Memory(why) => Error::Memory(why),
        Error::Number { number, limit } => Error::Number { number, limit },
        Error::Stopped => Error::Stopped,
    })
}

/// The minimum number of policies in a team, if there are threads for more teams. A team makes the
/// lookups that its policies share once.
const WORTH_A_TEAM: usize = 16;

/// Groups cells into teams of about equal size: at most one for each thread, unless a team would be
/// too large.
fn teams<'a>(mut cells: Vec<Cell<'a>>, plan: &'a Plan) -> Vec<Team<'a>> {
    // The separate curves of each policy are most of the work.
    let worth = if plan.curves() { 1 } else { WORTH_A_TEAM };
    let count = plan
        .threads()
        .min(cells.len() / worth)
        .max(cells.len().div_ceil(MOST_MEMBERS));
    let mut teams = Vec::new();
    for left in (1..=count).rev() {
        let rest = cells.split_off(cells.len().div_ceil(left));
        let team = Team::new(cells, plan.machines());
        teams.push(if plan.curves() {
            team.with_curves()
        } else {
            team
        });
        cells = rest;
    }
    teams
}

/// The policies that others foresee.
fn remembering(plan: &Plan) -> Vec<Cell<'_>> {
    let foreseen = plan.foreseen().iter();
    let cells = foreseen.map(|policy| Cell::new(policy.as_ref(), None).remembering());
    cells.collect()
}

/// The promotions of each policy that was to remember them.
fn promoted(teams: Vec<Team<'_>>) -> Foresight {
    let cells = teams.into_iter().flat_map(Team::into_cells);
    let promoted = cells.filter_map(|cell| Some((cell.policy.name(), cell.into_promoted()?)));
    promoted.collect()
}

/// Returns the promotions of each policy that others foresee, by a separate pass over the trace.
pub(crate) fn foresee<S: Source>(
    passes: &mut QuickPasses<'_>,
    source: &mut S,
    plan: &Plan,
) -> Result<Foresight, Error<S::Error>> {
    if plan.foreseen().is_empty() {
        return Ok(Foresight::new());
    }
    // Spaces of other traces use the same numbers.
    passes.listed.clear();
    loop {
        let teams = vec![Team::new(remembering(plan), &[])];
        if let Some(replayed) = passes.replay(source, teams, None)? {
            return Ok(promoted(replayed.teams));
        }
    }
}
