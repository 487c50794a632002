//! The replays of mixes, several at a time.

use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use broadleaf_machine::Machine;
use broadleaf_model::{Error, MemoryLimits, MixOutcome, MixProgram, MixWork, Plan, run_mix};

use broadleaf_trace::VisitEnds;

use super::beginnings::Beginnings;
use super::side_by_side::side_by_side;
use crate::compare::{available_threads, failure, visit_ends, within_machine};
use crate::failure::Failure;
use crate::output::shown;
use crate::source::origin::PassCount;
use crate::source::{Trace, TraceReading, Whole};
use crate::watch::{Watch, Work};
use crate::windows::refuse_windows;

/// One replay: programs on the cores of a machine, under a policy.
pub(crate) struct MixRun {
    machine: Machine,
    /// The name of the policy.
    policy: String,
    /// The programs, by core.
    pub(super) programs: Vec<MixedPart>,
}

/// A trace of a mix, and the part of it that is counted.
#[derive(Clone, Debug)]
pub(crate) struct MixedPart {
    /// The trace.
    pub(crate) path: PathBuf,
    /// The part.
    pub(crate) work: MixWork,
}

impl MixRun {
    /// A replay of programs on a machine, under the policy of this name.
    pub(crate) fn new(machine: &Machine, policy: &str, programs: &[MixedPart]) -> Self {
        Self {
            machine: machine.clone(),
            policy: policy.to_owned(),
            programs: programs.to_vec(),
        }
    }

    /// Where the visits of its traces end.
    pub(super) fn ends(&self) -> VisitEnds {
        visit_ends(false, [&self.machine])
    }
}

/// The setting that all replays share.
pub(crate) struct MixRunning<'a> {
    /// The memory of each replay; `None` for memory that never runs short.
    pub(crate) limits: Option<&'a MemoryLimits>,
    /// The maximum number of accesses of a trace; `None` derives a limit from its size.
    pub(crate) max_accesses: Option<u64>,
    /// The number of threads; `None` for as many as the process may use.
    pub(crate) threads: Option<NonZero<usize>>,
    /// Receives the progress.
    pub(crate) watch: &'a dyn Watch,
}

/// Opens a trace that is replayed several times, with visits that end there.
pub(super) fn open(
    path: &Path,
    max_accesses: Option<u64>,
    ends: VisitEnds,
) -> Result<Trace, Failure> {
    let reading = TraceReading {
        passes: PassCount::Several,
        keep_going: false,
        fetches: true,
        ends,
        max_accesses,
    };
    let trace = Trace::open(path, reading, Whole::Memory)?;
    refuse_windows(
        &trace,
        "and a mix needs whole programs: record without --skip, --for and --every",
    )?;
    Ok(trace)
}

/// The plan of a policy on a machine.
pub(super) fn plan(
    policy: &str,
    machine: &Machine,
    limits: Option<&MemoryLimits>,
) -> Result<Plan, Failure> {
    let (policies, machines) = (vec![crate::names::policy(policy)?], vec![machine.clone()]);
    let unlimited = MemoryLimits {
        code: true,
        ..MemoryLimits::none()
    };
    let limits = limits.unwrap_or(&unlimited).clone();
    let plan = Plan::within(policies, machines, limits).map_err(Failure::wrong)?;
    Ok(within_machine(plan))
}

/// The outcomes of all runs, in their order.
///
/// # Errors
/// If a policy and a machine do not go together, or the first error of a replay.
pub(crate) fn run_all(
    runs: &[MixRun],
    running: &MixRunning<'_>,
) -> Result<Vec<MixOutcome>, Failure> {
    // A plan shows at once that a policy and a machine do not go together.
    for run in runs {
        plan(&run.policy, &run.machine, running.limits)?;
    }
    let threads = running.threads.map_or_else(available_threads, NonZero::get);
    let beginnings = Beginnings::of(runs, running, threads)?;
    let expected = expected(runs, running)?;
    let accesses: Vec<AtomicU64> = runs.iter().map(|_| AtomicU64::new(0)).collect();
    let stop = AtomicBool::new(false);
    let all = expected.iter().sum();
    let bar = (running.watch).begin("running together", Work::Accesses(all));
    let replay = |number: usize| {
        let passed = &accesses[number];
        let outcome = one(&runs[number], running, &beginnings, passed, &stop);
        passed.store(expected[number], Ordering::Relaxed);
        outcome
    };
    side_by_side(runs.len(), threads, &stop, replay, || {
        let passed = accesses.iter().zip(&expected);
        let passed = passed.map(|(one, most)| one.load(Ordering::Relaxed).min(*most));
        bar.set(0, passed.sum::<u64>());
    })
}

/// The accesses of the traces of each run. A run that counts a part of its traces ends earlier.
fn expected(runs: &[MixRun], running: &MixRunning<'_>) -> Result<Vec<u64>, Failure> {
    let mut known = std::collections::BTreeMap::<&Path, u64>::new();
    let mut expected = Vec::new();
    for run in runs {
        let mut accesses = 0;
        for MixedPart { path, .. } in &run.programs {
            accesses += match known.get(path.as_path()) {
                Some(accesses) => *accesses,
                None => {
                    let trace = open(path, running.max_accesses, VisitEnds::Units)?;
                    let accesses = trace.totals().map_or(0, |totals| totals.accesses());
                    *known.entry(path).or_insert(accesses)
                }
            };
        }
        expected.push(accesses);
    }
    Ok(expected)
}

/// The outcome of a run; `None` if it was stopped.
fn one(
    run: &MixRun,
    running: &MixRunning<'_>,
    beginnings: &Beginnings,
    passed: &AtomicU64,
    stop: &AtomicBool,
) -> Result<Option<MixOutcome>, Failure> {
    let plan = plan(&run.policy, &run.machine, running.limits)?;
    let opened = run.programs.iter();
    let opened = opened.map(|part| open(&part.path, running.max_accesses, run.ends()));
    let mut sources = opened.collect::<Result<Vec<Trace>, Failure>>()?;
    let mut programs: Vec<_> = sources
        .iter_mut()
        .zip(&run.programs)
        .map(|(source, part)| MixProgram {
            source,
            work: part.work,
            beginning: beginnings.find(run, part),
        })
        .collect();
    let outcome = run_mix(&mut programs, &plan, &mut |state| {
        passed.store(state.accesses, Ordering::Relaxed);
        match stop.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    let names = || run.programs.iter().map(|part| shown(&part.path));
    match outcome {
        Err(Error::Stopped) => Ok(None),
        Err(error) => Err(failure(error, &names().collect::<Vec<_>>().join(", "))),
        Ok(outcome) => Ok(Some(outcome)),
    }
}
