//! The quick path: many policies over one filtered stream, in memory that never runs short.

use crate::cell::Cell;
use crate::kept::Kept;
use crate::members::MOST_MEMBERS;
use crate::passes::{PassResult, QuickPasses};
use crate::result;
use crate::team::Team;
use broadleaf_metrics::CellResult;
use broadleaf_model::foresight::{ForeseenPromotions, Promoted};
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
    let policies = QuickPolicies::of(plan);
    let first = first_pass(passes, source, &policies)?;
    let again = policies.to_replay_again(&first.foresight);
    let second = match again.is_empty() {
        true => Vec::new(),
        false => second_pass(passes, source, plan, again, &first)?,
    };
    let (mut replayed, mut again) = (first.results.into_iter(), second.into_iter());
    let mut outcome = first.outcome;
    for &policy in &policies.all {
        let settled = policies.is_settled(policy, &first.foresight);
        let found = replayed.next().filter(|_| settled);
        let found = found.or_else(|| again.next());
        outcome.results.extend(found.into_iter().flatten());
    }
    outcome.foreseen = first.foresight;
    if plan.keeps_reduced() {
        outcome.reduced = first.kept.and_then(Kept::into_parts);
    }
    Ok(outcome)
}

/// The policies of a plan, and the passes that they need.
struct QuickPolicies<'a> {
    plan: &'a Plan,
    all: Vec<&'a dyn Policy>,
    /// True if every policy waits for the second pass.
    all_wait: bool,
}

impl<'a> QuickPolicies<'a> {
    fn of(plan: &'a Plan) -> Self {
        let all: Vec<&dyn Policy> = plan.policies().iter().map(AsRef::as_ref).collect();
        let mut policies = Self {
            plan,
            all,
            all_wait: false,
        };
        policies.all_wait = policies.all.iter().all(|&policy| policies.waits(policy));
        policies
    }

    /// The promotions that an earlier comparison found for a policy with foresight.
    fn expected(&self, policy: &dyn Policy) -> Option<&'a Promoted> {
        foreseen_by(policy).and_then(|name| self.plan.expected(name))
    }

    /// Returns true if a policy needs promotions that only the first pass finds.
    fn waits(&self, policy: &dyn Policy) -> bool {
        foreseen_by(policy).is_some() && self.expected(policy).is_none()
    }

    fn any_waits(&self) -> bool {
        self.all.iter().any(|&policy| self.waits(policy))
    }

    /// The policies of the first pass.
    fn at_once(&self) -> &[&'a dyn Policy] {
        if self.all_wait { &[] } else { &self.all }
    }

    /// The cells of the policies of the first pass.
    fn first_cells(&self) -> Vec<Cell<'a>> {
        let cell = |&policy: &&'a dyn Policy| {
            let cell = Cell::new(policy, self.expected(policy));
            match self.plan.is_foreseen(policy) {
                true => cell.remembering(),
                false => cell,
            }
        };
        self.at_once().iter().map(cell).collect()
    }

    /// The cells of policies that the first pass needs besides its own: those whose promotions
    /// others foresee, and the baseline, of which only the faults are needed.
    fn cells_beside(&self) -> Vec<Cell<'a>> {
        let is_at_once = |name: &str| self.at_once().iter().any(|policy| policy.name() == name);
        let mut beside = remembering(self.plan);
        beside.retain(|cell| !is_at_once(&cell.policy.name()));
        if !is_at_once(&self.plan.baseline().name()) {
            beside.push(Cell::new(self.plan.baseline(), None));
        }
        beside
    }

    /// Returns true if the first pass replayed a policy with the promotions that it foresees.
    fn is_settled(&self, policy: &dyn Policy, foresight: &ForeseenPromotions) -> bool {
        let nothing = Promoted::new();
        let found = found_for(policy, foresight).unwrap_or(&nothing);
        !self.all_wait && found == self.expected(policy).unwrap_or(&nothing)
    }

    /// The policies that the first pass did not settle.
    fn to_replay_again(&self, foresight: &ForeseenPromotions) -> Vec<&'a dyn Policy> {
        let all = self.all.iter().copied();
        all.filter(|&policy| !self.is_settled(policy, foresight))
            .collect()
    }
}

/// The name of the policy that a policy foresees.
fn foreseen_by(policy: &dyn Policy) -> Option<&'static str> {
    policy.needs().foresight.policy()
}

/// The promotions that a pass found for a policy with foresight.
fn found_for<'f>(policy: &dyn Policy, foresight: &'f ForeseenPromotions) -> Option<&'f Promoted> {
    foreseen_by(policy).and_then(|name| foresight.get(name))
}

/// What the first pass found.
struct FirstPass {
    /// Without the results of policies.
    outcome: Outcome,
    /// For each policy of the pass, its results on all machines.
    results: Vec<Vec<CellResult>>,
    /// The faults of the baseline.
    faults: u64,
    foresight: ForeseenPromotions,
    /// The visits that a second pass replays.
    kept: Option<Kept>,
}

/// Replays the policies that need not wait, and those that others foresee.
fn first_pass<S: Source>(
    passes: &mut QuickPasses<'_>,
    source: &mut S,
    policies: &QuickPolicies<'_>,
) -> Result<FirstPass, Error<S::Error>> {
    let plan = policies.plan;
    loop {
        let mut teams = teams(policies.first_cells(), plan);
        let count = teams.len();
        let beside = policies.cells_beside();
        if !beside.is_empty() {
            teams.push(Team::new(beside, &[]));
        }
        // A second pass reads what the first one kept. A plan may also want it for later replays.
        let wait = policies.any_waits();
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
            let faults = result::faults_of(&plan.baseline().name(), &teams);
            return Ok(FirstPass {
                outcome: result::outcome(&stream),
                results: result::of_policies(&teams[..count], &stream, faults),
                faults,
                foresight: promoted(teams),
                kept,
            });
        }
    }
}

/// Replays policies with the promotions that the first pass found.
fn second_pass<S: Source>(
    passes: &mut QuickPasses<'_>,
    source: &mut S,
    plan: &Plan,
    policies: Vec<&dyn Policy>,
    first: &FirstPass,
) -> Result<Vec<Vec<CellResult>>, Error<S::Error>> {
    passes.state.passes += 1;
    loop {
        let cells = policies
            .iter()
            .map(|&policy| Cell::new(policy, found_for(policy, &first.foresight)));
        let teams = teams(cells.collect(), plan);
        let replayed = match &first.kept {
            None => passes.replay(source, teams, None)?,
            Some(kept) => replay_kept(passes, kept, teams)?,
        };
        if let Some(PassResult { stream, teams, .. }) = replayed {
            return Ok(result::of_policies(&teams, &stream, first.faults));
        }
    }
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
fn promoted(teams: Vec<Team<'_>>) -> ForeseenPromotions {
    let cells = teams.into_iter().flat_map(Team::into_cells);
    let promoted = cells.filter_map(|cell| Some((cell.policy.name(), cell.into_promoted()?)));
    promoted.collect()
}

/// Returns the promotions of each policy that others foresee, by a separate pass over the trace.
pub(crate) fn foresee<S: Source>(
    passes: &mut QuickPasses<'_>,
    source: &mut S,
    plan: &Plan,
) -> Result<ForeseenPromotions, Error<S::Error>> {
    if plan.foreseen().is_empty() {
        return Ok(ForeseenPromotions::new());
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
