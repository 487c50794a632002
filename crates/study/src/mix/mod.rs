//! Mixes: several traces at the same time, each on a core of one machine, under several policies.

mod beginnings;
mod runs;
mod side_by_side;

use std::num::NonZero;
use std::path::{Path, PathBuf};

use broadleaf_machine::Machine;
use broadleaf_metrics::{
    AloneResult, CoreResult, MIX_SCHEMA, MixComparison, MixResult, MixedProgram, MixedTrace,
};
use broadleaf_model::{MemoryLimits, MixOutcome, MixWork, check_mix};
use broadleaf_report::BASELINE;
use broadleaf_trace::VisitEnds;

use crate::compare::AskedPolicies;
use crate::failure::Failure;
use crate::memory::MemoryRequest;
use crate::provenance::provenance;
use crate::source::origin::can_be_opened_again;
use crate::watch::Watch;
pub(crate) use runs::{MixRun, MixRunning, MixedPart, run_all};
use runs::{open, plan};

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
        machines
            .iter()
            .all(|machine| plan(name, machine, None).is_ok())
    };
    let policies = MIX_POLICIES.iter().filter(|name| can_run(name));
    policies.map(|name| (*name).to_owned()).collect()
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
    let parts = request.traces.iter().map(|path| MixedPart {
        path: path.clone(),
        work: request.work,
    });
    let parts: Vec<MixedPart> = parts.collect();
    let mut runs = Vec::new();
    for machine in &request.machines {
        for part in &parts {
            runs.push(MixRun::new(machine, BASELINE, std::slice::from_ref(part)));
        }
        for policy in &policies {
            runs.push(MixRun::new(machine, policy, &parts));
        }
    }
    let running = MixRunning {
        limits: limits.as_ref(),
        max_accesses: request.max_accesses,
        threads: request.threads,
        watch: request.watch,
    };
    let mut outcomes = run_all(&runs, &running)?.into_iter();
    let (mut alone, mut results, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for machine in &request.machines {
        let alone_here = traces.iter().zip(outcomes.by_ref());
        alone.extend(alone_here.map(|(trace, outcome)| alone_result(machine, trace, outcome)));
        for outcome in outcomes.by_ref().take(policies.len()) {
            let work = request.work.counted;
            results.push(mix_result(
                machine, outcome, work, &alone, &traces, &mut notes,
            ));
        }
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
        let trace = open(path, request.max_accesses, VisitEnds::Units)?;
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

fn alone_result(machine: &Machine, trace: &MixedTrace, outcome: MixOutcome) -> AloneResult {
    AloneResult {
        machine: machine.name.clone(),
        program: trace.name.clone(),
        counts: outcome.programs.into_iter().next().unwrap_or_default(),
    }
}

fn mix_result(
    machine: &Machine,
    outcome: MixOutcome,
    work: Option<u64>,
    alone: &[AloneResult],
    traces: &[MixedTrace],
    notes: &mut Vec<String>,
) -> MixResult {
    let mut programs = Vec::new();
    let again = outcome.again.iter();
    for ((trace, counts), again) in traces.iter().zip(outcome.programs).zip(again) {
        let is_it = |one: &&AloneResult| one.machine == machine.name && one.program == trace.name;
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
