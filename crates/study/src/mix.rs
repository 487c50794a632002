//! Mixes: several traces at the same time, each on a core of one machine, under several policies.

use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use broadleaf_machine::Machine;
use broadleaf_metrics::{
    AloneResult, CoreResult, MIX_SCHEMA, MixComparison, MixResult, MixedProgram, MixedTrace,
};
use broadleaf_model::{MemoryLimits, MixOutcome, MixProgram, MixWork, Plan, check_mix, run_mix};
use broadleaf_policy::Policy;
use broadleaf_report::BASELINE;

use crate::compare::{AskedPolicies, available_threads, failure, within_machine};
use crate::failure::Failure;
use crate::memory::MemoryRequest;
use crate::provenance::provenance;
use crate::source::origin::{PassCount, can_be_opened_again};
use crate::source::{Trace, TraceReading, Whole};
use crate::watch::{Watch, Work};

/// A request for a mix.
pub struct MixRequest<'a> {
    /// The traces: files, one for each core.
    pub traces: &'a [PathBuf],
    /// The maximum number of accesses of a trace; `None` derives a limit from its size.
    pub max_accesses: Option<u64>,
    /// The part of each trace that is counted.
    pub work: MixWork,
    /// The policies. Each has a mix of its own.
    pub policies: AskedPolicies,
    /// The machines. Each has mixes of its own.
    pub machines: Vec<Machine>,
    /// The memory that the programs share, if the user gave one.
    pub memory: Option<&'a MemoryRequest>,
    /// The number of threads; `None` for as many as the process may use.
    pub threads: Option<NonZero<usize>>,
    /// Receives the progress.
    pub watch: &'a dyn Watch,
}

/// The policies of mixes without `--policy`: base pages, coloured base pages, superpages, and
/// scattered superpages. These are the schemes of Chen 2014, section V.
pub const MIX_POLICIES: [&str; 4] = [
    BASELINE,
    "coloured(by=core)",
    "fixed-2m",
    "scattered(by=core)",
];

/// The policies of mixes without `--policy` that all of these machines can run.
pub fn mix_policies(machines: &[Machine]) -> Vec<String> {
    let can_run = |name: &&str| {
        machines.iter().all(|machine| {
            let run = Run {
                machine,
                policy: (**name).to_owned(),
                programs: 0..1,
                is_alone: false,
            };
            plan(&run, None).is_ok()
        })
    };
    let policies = MIX_POLICIES.iter().filter(|name| can_run(name));
    policies.map(|name| (*name).to_owned()).collect()
}

/// One replay: a program alone, or all programs under a policy.
struct Run<'r> {
    machine: &'r Machine,
    /// The name of the policy.
    policy: String,
    /// The numbers of the programs.
    programs: std::ops::Range<usize>,
    /// True if the program runs alone, to be compared with.
    is_alone: bool,
}

/// Runs all programs together under each policy on each machine, and each program alone.
///
/// # Errors
/// If a trace cannot be read, is damaged, names pages or counts no instructions; if a policy or a
/// machine cannot run mixes; if memory is used up.
pub fn mix(request: MixRequest<'_>) -> Result<MixComparison, Failure> {
    let traces = named(&request)?;
    let policies: Vec<String> = request
        .policies
        .policies
        .iter()
        .map(|one| one.name())
        .collect();
    for machine in &request.machines {
        for policy in &request.policies.policies {
            check_mix(policy.as_ref(), machine, traces.len()).map_err(Failure::wrong)?;
        }
    }
    let limits = limits(&request)?;
    let count = traces.len();
    let mut runs = Vec::new();
    for machine in &request.machines {
        runs.extend((0..count).map(|program| Run {
            machine,
            policy: BASELINE.to_owned(),
            programs: program..program + 1,
            is_alone: true,
        }));
        runs.extend(policies.iter().map(|policy| Run {
            machine,
            policy: policy.clone(),
            programs: 0..count,
            is_alone: false,
        }));
    }
    // A plan shows at once that a policy and a machine do not go together.
    for run in &runs {
        plan(run, limits.as_ref())?;
    }
    let outcomes = all(&runs, &request, limits.as_ref(), &traces)?;
    let (mut alone, mut results, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for (run, outcome) in runs.iter().zip(outcomes) {
        if run.is_alone {
            alone.extend(alone_results(run, outcome, &traces));
            continue;
        }
        let work = request.work.counted;
        results.push(mix_result(run, outcome, work, &alone, &traces, &mut notes));
    }
    let configuration = format!("{policies:?}\n{:?}\n{:?}", request.machines, request.work);
    Ok(MixComparison {
        schema: MIX_SCHEMA.to_owned(),
        programs: traces,
        skipped: request.work.skipped,
        warming: request.work.warming,
        work: request.work.counted,
        alone_policy: BASELINE.to_owned(),
        alone,
        results,
        notes,
        provenance: provenance(&configuration),
    })
}

/// The hash of a file's bytes, as in the results of `compare`.
fn hash_of(path: &Path) -> Result<String, Failure> {
    let failed = |error: std::io::Error| Failure::reading(&crate::output::shown(path), &error);
    let mut hasher = blake3::Hasher::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    hasher.update_reader(file).map_err(failed)?;
    Ok(format!("blake3:{}", hasher.finalize().to_hex()))
}

/// The traces with their names in tables.
fn named(request: &MixRequest<'_>) -> Result<Vec<MixedTrace>, Failure> {
    let mut traces: Vec<MixedTrace> = Vec::new();
    for path in request.traces {
        if !can_be_opened_again(path) {
            return Err(Failure::Wrong(format!(
                "{}: a mix reads each trace several times: give a file",
                crate::output::shown(path)
            )));
        }
        let trace = open(path, request)?;
        if trace.is_cut_short() {
            return Err(Failure::Wrong(format!(
                "{}: is truncated, because the recording was cut short, and a mix needs whole \
                 traces: record the program again",
                trace.name()
            )));
        }
        let accesses = trace.totals().map_or(0, |totals| totals.accesses());
        let stem = path
            .file_stem()
            .unwrap_or(path.as_os_str())
            .to_string_lossy()
            .into_owned();
        let same = traces.iter().filter(|known| {
            let name = known.name.split('#').next();
            name == Some(&*stem)
        });
        let name = match same.count() {
            0 => stem,
            before => format!("{stem}#{}", before + 1),
        };
        traces.push(MixedTrace {
            name,
            path: trace.name().to_owned(),
            hash: hash_of(path)?,
            accesses,
        });
    }
    Ok(traces)
}

fn open(path: &Path, request: &MixRequest<'_>) -> Result<Trace, Failure> {
    let reading = TraceReading {
        passes: PassCount::Several,
        keep_going: false,
        fetches: true,
        by_instruction: false,
        max_accesses: request.max_accesses,
    };
    Trace::open(path, reading, Whole::Memory)
}

/// The memory that the programs share; `None` for memory that never runs short.
fn limits(request: &MixRequest<'_>) -> Result<Option<MemoryLimits>, Failure> {
    let (Some(memory), Some(first)) = (request.memory, request.traces.first()) else {
        return Ok(None);
    };
    if !memory.after.is_empty() {
        return Err(Failure::wrong(
            "a mix begins in fresh memory: leave --after out",
        ));
    }
    let limits = crate::memory::limits(memory, first, || {
        Err(Failure::wrong(
            "a percentage is one of a single program's memory: give a mix a size, such as \
             --memory 8G",
        ))
    })?;
    Ok(limits.map(|(limits, _)| limits))
}

fn policy(name: &str) -> Result<Box<dyn Policy>, Failure> {
    crate::names::policy(name)
}

fn plan(run: &Run<'_>, limits: Option<&MemoryLimits>) -> Result<Plan, Failure> {
    let (policies, machines) = (vec![policy(&run.policy)?], vec![run.machine.clone()]);
    let unlimited = MemoryLimits {
        code: true,
        ..MemoryLimits::none()
    };
    let limits = limits.unwrap_or(&unlimited).clone();
    let plan = Plan::within(policies, machines, limits).map_err(Failure::wrong)?;
    Ok(within_machine(plan))
}

/// The outcomes of all runs, several at a time.
fn all(
    runs: &[Run<'_>],
    request: &MixRequest<'_>,
    limits: Option<&MemoryLimits>,
    traces: &[MixedTrace],
) -> Result<Vec<MixOutcome>, Failure> {
    let threads = request.threads.map_or_else(available_threads, NonZero::get);
    let next = AtomicUsize::new(0);
    let (stop, done) = (AtomicBool::new(false), AtomicUsize::new(0));
    let accesses: Vec<AtomicU64> = runs.iter().map(|_| AtomicU64::new(0)).collect();
    let results: Vec<Mutex<Option<Result<MixOutcome, Failure>>>> =
        runs.iter().map(|_| Mutex::new(None)).collect();
    let expected = |run: &Run<'_>| -> u64 {
        traces[run.programs.clone()]
            .iter()
            .map(|one| one.accesses)
            .sum()
    };
    let expected = runs.iter().map(expected).sum();
    std::thread::scope(|scope| {
        for _ in 0..threads.min(runs.len()) {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(run) = runs.get(number) else {
                        break;
                    };
                    let outcome = one(run, request, limits, traces, &accesses[number], &stop);
                    stop.fetch_or(outcome.is_err(), Ordering::Relaxed);
                    if let Ok(mut result) = results[number].lock() {
                        *result = Some(outcome);
                    }
                }
                done.fetch_add(1, Ordering::Release);
            });
        }
        let bar = request
            .watch
            .begin("running together", Work::Accesses(expected));
        while done.load(Ordering::Acquire) < threads.min(runs.len()) {
            std::thread::sleep(Duration::from_millis(50));
            let passed = accesses.iter().map(|one| one.load(Ordering::Relaxed));
            bar.set(0, passed.sum::<u64>().min(expected));
        }
    });
    let results = results.into_iter().filter_map(|one| one.into_inner().ok()?);
    // The first failure in the order of runs, so that the message depends on no thread.
    let (failures, outcomes): (Vec<_>, Vec<_>) = results.partition(Result::is_err);
    if let Some(Err(failure)) = failures.into_iter().next() {
        return Err(failure);
    }
    outcomes.into_iter().collect()
}

fn one(
    run: &Run<'_>,
    request: &MixRequest<'_>,
    limits: Option<&MemoryLimits>,
    traces: &[MixedTrace],
    passed: &AtomicU64,
    stop: &AtomicBool,
) -> Result<MixOutcome, Failure> {
    let plan = plan(run, limits)?;
    let paths = &request.traces[run.programs.clone()];
    let opened = paths.iter().map(|path| open(path, request));
    let mut sources = opened.collect::<Result<Vec<Trace>, Failure>>()?;
    let mut programs: Vec<_> = sources
        .iter_mut()
        .map(|source| MixProgram {
            source,
            work: request.work,
        })
        .collect();
    let outcome = run_mix(&mut programs, &plan, &mut |state| {
        passed.store(state.accesses, Ordering::Relaxed);
        match stop.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    let names: Vec<&str> = traces[run.programs.clone()]
        .iter()
        .map(|one| &*one.path)
        .collect();
    outcome.map_err(|error| failure(error, &names.join(", ")))
}

fn alone_results(run: &Run<'_>, outcome: MixOutcome, traces: &[MixedTrace]) -> Vec<AloneResult> {
    let programs = traces[run.programs.clone()].iter().zip(outcome.programs);
    let alone = programs.map(|(trace, counts)| AloneResult {
        machine: run.machine.name.clone(),
        program: trace.name.clone(),
        counts,
    });
    alone.collect()
}

fn mix_result(
    run: &Run<'_>,
    outcome: MixOutcome,
    work: Option<u64>,
    alone: &[AloneResult],
    traces: &[MixedTrace],
    notes: &mut Vec<String>,
) -> MixResult {
    let mut programs = Vec::new();
    let again = outcome.again.iter();
    for ((trace, counts), again) in traces.iter().zip(outcome.programs).zip(again) {
        let is_it =
            |one: &&AloneResult| one.machine == run.machine.name && one.program == trace.name;
        let alone: Option<&CoreResult> = alone.iter().find(is_it).map(|one| &one.counts);
        let ended_early = (*again > 0).then(|| {
            format!(
                "{} ended before the others and began again, so that they had its load",
                trace.name
            )
        });
        let is_short = work.filter(|work| counts.instructions < *work).map(|work| {
            format!(
                "{} has {} instructions to count, and {work} were asked for: all of them count",
                trace.name, counts.instructions
            )
        });
        for note in ended_early.into_iter().chain(is_short) {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        programs.push(MixedProgram::new(&trace.name, counts, alone, *again));
    }
    MixResult::new(outcome.whole, programs)
}
