//! The passes over a trace.

use crate::cell::{Cell, Promoted};
use crate::feed::Lists;
use crate::kept::Kept;
use crate::limited::Sources;
use crate::members::MOST_MEMBERS;
use crate::offline::Choice;
use crate::passes::{Passes, Replayed};
use crate::pool::Pool;
use crate::team::Team;
use crate::{Plan, Source, limited, result};
use broadleaf_memory::system::Place;
use broadleaf_metrics::{CellResult, TraceSummary};
use broadleaf_policy::Policy;
use broadleaf_translation::charges::ChargeCounters;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// Why a replay failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error<E> {
    /// The trace could not be read.
    #[error("{0}")]
    Source(E),
    /// An address that no x86-64 processor translates.
    #[error("the address {address:#x} is not canonical: no x86-64 processor translates it")]
    Address {
        /// The first byte of its page.
        address: u64,
    },
    /// The blocks that the trace reaches, kept once for each policy, would take more memory than a replay may.
    #[error(
        "the trace reaches {blocks} blocks of 2 MiB or more; under {policies} policies at a time (4k, with which faults are \
         compared, is always one) a replay keeps {limit} in all: compare fewer policies at a time"
    )]
    TooManyBlocks {
        /// How many blocks it had reached.
        blocks: usize,
        /// How many policies were replayed at a time.
        policies: usize,
        /// How many blocks of all policies together are kept.
        limit: usize,
    },
    /// The model takes more memory of this machine than it may ([`Plan::within_bytes`]).
    #[error(
        "the model takes {needed} bytes of memory after {blocks} blocks of 2 MiB under {policies} policies and machines, and {limit} may be used: compare \
         fewer at a time, or use a machine with more memory"
    )]
    NoRoom {
        /// The bytes that the model takes so far.
        needed: u64,
        /// The bytes that the model may take.
        limit: u64,
        /// The number of blocks that the trace had reached.
        blocks: usize,
        /// The number of policies replayed at a time, each on each machine.
        policies: usize,
    },
    /// What a pass kept for the next cannot be read.
    #[error("what the first pass kept cannot be read again: {0}")]
    Kept(String),
    /// A number of a process, an address space or a file in a trace that is replayed with others.
    #[error(
        "a process, an address space or a file has the number {number}, and numbers below {limit} can be replayed in this \
         place: give a trace that broadleaf recorded or imported"
    )]
    Number {
        /// The number.
        number: u32,
        /// The first number that leaves no room for those of other traces.
        limit: u32,
    },
    /// Memory cannot be as it was asked for.
    #[error("{0}")]
    Memory(String),
    /// The threads that were asked for cannot be had.
    #[error("cannot start {threads} threads: {reason}")]
    NoThreads {
        /// How many.
        threads: usize,
        /// What the system says.
        reason: String,
    },
    /// The progress callback asked to stop.
    #[error("stopped")]
    Stopped,
}

/// How far a replay has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Which pass over the trace this is, from 1.
    pub pass: u32,
    /// How many passes there will be, as far as is known.
    pub passes: u32,
    /// Which of the traces that ran before is being read, from 0; `None` for the one that results are about.
    pub earlier: Option<usize>,
    /// What a policy with foresight would do is being tried: for which time, from 1. The trace is not being read.
    pub trial: Option<u32>,
    /// Accesses of that trace that were replayed in this pass, or are about to be.
    pub accesses: u64,
}

/// What a replay found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The trace, with an empty path and hash, which only the host knows.
    pub trace: TraceSummary,
    /// One result for each policy and machine: policies in the order asked, machines inside.
    pub results: Vec<CellResult>,
    /// The same for each time of [`Plan::with_interim_results`], as if the trace ended before the first visit at or after it. Address spaces that had ended
    /// are gone.
    pub interim: Vec<Vec<CellResult>>,
    /// What a reader of the numbers has to know about the trace and the model.
    pub notes: Vec<String>,
    /// What was chosen for policies that know the trace beforehand, in the order of their results.
    pub choices: Vec<Choice>,
    /// The reduced form of the trace in parts, each a whole reduced trace, if the plan keeps it
    /// ([`Plan::keeping_reduced`]) and few enough visits are left.
    pub reduced: Option<Vec<Vec<u8>>>,
    /// For each result the frame of each resident page at the end, where the plan wants that
    /// ([`Plan::with_frames`]).
    pub frames: Vec<Vec<(Place, u64)>>,
    /// For each result the counters of TLB misses that the policy has at the end. Only replays in
    /// limited memory have counters.
    pub counters: Vec<ChargeCounters>,
}

/// Replays a trace under every policy and machine of a plan.
///
/// Takes one pass, and one more where a policy has something to foresee, or memory is limited and a policy may have. Where a trace turns out to tell the mappings of an
/// address space only after references to it, it is read again from the start. `progress` is called many times
/// a second, and stops the replay with [`ControlFlow::Break`].
///
/// # Errors
/// Where the source fails, the trace holds an address or a number of address spaces or blocks that the model cannot take,
/// or `progress` stops.
pub fn run<S: Source>(
    source: &mut S,
    plan: &Plan,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Outcome, Error<S::Error>> {
    run_after(&mut [], source, plan, progress)
}

/// The same in memory that earlier traces have used, one after the other: what they leave in it, and in the TLBs, is what the trace begins
/// with. Nothing of them is counted. A process of theirs that has not ended goes on living; a file that two traces name by the same path is one.
///
/// # Errors
/// As [`run`]; and where there are earlier traces and memory is not modelled down to the frame, or there are too many.
pub fn run_after<S: Source>(
    earlier: &mut [S],
    source: &mut S,
    plan: &Plan,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Outcome, Error<S::Error>> {
    if !earlier.is_empty() && plan.limits().is_none() {
        return Err(Error::Memory(
            "what ran before leaves nothing behind where memory is not limited".to_string(),
        ));
    }
    if earlier.len() > limited::MOST_EARLIER {
        return Err(Error::Memory(format!(
            "at most {} traces may run before another",
            limited::MOST_EARLIER
        )));
    }
    let passes = match plan.limits() {
        Some(_) if !plan.foreseen().is_empty() => 2 + earlier.len() as u32,
        // Whether anything is foreseen, the first shows.
        _ => 1,
    };
    let mut passes = Passes {
        progress,
        state: Progress {
            pass: 0,
            passes,
            earlier: None,
            trial: None,
            accesses: 0,
        },
        told: BTreeSet::new(),
        plan,
        pool: Pool::new(plan.threads()).map_err(|reason| Error::NoThreads {
            threads: plan.threads(),
            reason,
        })?,
        lists: Lists::default(),
    };
    let Some(limits) = plan.limits() else {
        return run_unlimited(&mut passes, source, plan);
    };
    let mut before = Foresight::new();
    for (number, source) in earlier.iter_mut().enumerate() {
        passes.state.earlier = Some(number);
        let foresight = foresee(&mut passes, source, plan)?;
        for (policy, promoted) in foresight {
            let named = limited::named(promoted, number)?;
            before.entry(policy).or_default().extend(named);
        }
    }
    passes.state.earlier = None;
    let mut foresight = foresee(&mut passes, source, plan)?;
    for (policy, promoted) in before {
        foresight.entry(policy).or_default().extend(promoted);
    }
    let Passes {
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
    limited::run(sources, plan, limits, &foresight, &pool, state, progress)
}

/// The same where memory never runs short.
///
/// All policies are replayed in the pass that finds out what some foresee: those as if that were nothing. Beside one that promotes nothing that is hardly any work, since they look up the same; where all foresee, they
/// wait until it is known. Where it is nothing, the first pass was all there is to do; where it is not, they alone are replayed once more.
fn run_unlimited<S: Source>(
    passes: &mut Passes<'_>,
    source: &mut S,
    plan: &Plan,
) -> Result<Outcome, Error<S::Error>> {
    let policies: Vec<&dyn Policy> = plan.policies().iter().map(AsRef::as_ref).collect();
    let foresees = |policy: &dyn Policy| policy.needs().foresight.policy();
    let all_wait = policies.iter().all(|&policy| foresees(policy).is_some());
    let at_once = if all_wait { &[][..] } else { &policies[..] };
    let is_at_once = |name: &str| at_once.iter().any(|policy| policy.name() == name);
    let baseline = plan.baseline().name();
    let (mut outcome, first, faults, foresight, kept) = loop {
        let cells = at_once
            .iter()
            .map(|&policy| match plan.is_foreseen(policy) {
                true => Cell::new(policy, None).remembering(),
                false => Cell::new(policy, None),
            });
        let mut teams = teams(cells.collect(), plan);
        let mut beside = remembering(plan);
        beside.retain(|cell| !is_at_once(&cell.policy.name()));
        if !is_at_once(&baseline) {
            // Only its faults are wanted.
            beside.push(Cell::new(plan.baseline(), None));
        }
        let count = teams.len();
        if !beside.is_empty() {
            teams.push(Team::new(beside, &[]));
        }
        // A second pass reads what the first one kept. A plan may also want it for later replays.
        let foresees = !plan.foreseen().is_empty();
        let wanted = foresees || plan.keeps_reduced();
        // Curves follow what is not kept; and a reduced form need not be written down once more.
        let keeps = wanted && !plan.curves() && !source.is_reduced();
        let keeps = keeps.then(|| Kept::new(plan.most_kept()).only_few(!foresees));
        if let Some(replayed) = passes.replay(source, teams, keeps)? {
            let Replayed {
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
    let is_settled =
        |policy: &dyn Policy| !all_wait && foreseen(policy).is_none_or(Promoted::is_empty);
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
            if let Some(Replayed { stream, teams, .. }) = replayed {
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
    if plan.keeps_reduced() {
        outcome.reduced = kept.map(Kept::into_parts);
    }
    Ok(outcome)
}

/// Takes teams through what an earlier pass kept.
fn replay_kept<'t, E>(
    passes: &mut Passes<'_>,
    kept: &Kept,
    teams: Vec<Team<'t>>,
) -> Result<Option<Replayed<'t>>, Error<E>> {
    let replayed = passes.replay(&mut kept.source(), teams, None);
    replayed.map_err(|error| match error {
        Error::Source(error) => Error::Kept(error.to_string()),
        Error::Kept(why) => Error::Kept(why),
        Error::Address { address } => Error::Address { address },
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

/// How many policies a team has at least, where there are threads for another: what they look up in common they look up once.
const WORTH_A_TEAM: usize = 16;

/// No more teams than there are threads, unless one would be too large, of about the same size.
fn teams<'a>(mut cells: Vec<Cell<'a>>, plan: &'a Plan) -> Vec<Team<'a>> {
    // Each policy has curves of its own, which are most of the work.
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

/// What policies foresee: what each promotes, by its name.
pub(crate) type Foresight = BTreeMap<String, Promoted>;

/// The policies that others foresee.
fn remembering(plan: &Plan) -> Vec<Cell<'_>> {
    let foreseen = plan.foreseen().iter();
    let cells = foreseen.map(|policy| Cell::new(policy.as_ref(), None).remembering());
    cells.collect()
}

/// What each policy of some teams promoted, of those that were to remember it.
fn promoted(teams: Vec<Team<'_>>) -> Foresight {
    let cells = teams.into_iter().flat_map(Team::into_cells);
    let promoted = cells.filter_map(|cell| Some((cell.policy.name(), cell.into_promoted()?)));
    promoted.collect()
}

/// What each policy that others foresee promotes, by a pass over the trace for that alone.
fn foresee<S: Source>(
    passes: &mut Passes<'_>,
    source: &mut S,
    plan: &Plan,
) -> Result<Foresight, Error<S::Error>> {
    if plan.foreseen().is_empty() {
        return Ok(Foresight::new());
    }
    // Spaces of other traces have the same names.
    passes.told.clear();
    loop {
        let teams = vec![Team::new(remembering(plan), &[])];
        if let Some(replayed) = passes.replay(source, teams, None)? {
            return Ok(promoted(replayed.teams));
        }
    }
}
