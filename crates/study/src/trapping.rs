//! Counting the TLB misses of a running program by traps.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;

use broadleaf_metrics::{TRAP_SCHEMA, Trapped};
use broadleaf_policy::Policy;
use broadleaf_record::trap::{Mechanism, TrapCounts, TrapError, TrapFinished, TrapOptions, count};
use broadleaf_record::valgrind::RecordError;
use broadleaf_report::BASELINE;
use broadleaf_units::{PageSize, SizeSet};

use crate::failure::Failure;
use crate::machines::machines;
use crate::names;
use crate::provenance::provenance;

/// What to run, and which TLB to model.
#[derive(Debug)]
pub struct TrapRequest<'a> {
    /// The command and its arguments.
    pub command: &'a [OsString],
    /// The machine's name, file or grid of one TLB.
    pub machine: &'a str,
    /// `4k`, or `fixed-SIZE`.
    pub policy: &'a str,
    /// How pages are closed. `None`: by the quicker mechanism that the kernel allows.
    pub mechanism: Option<Mechanism>,
    /// The configuration, for the provenance.
    pub configuration: &'a str,
}

/// Runs a command and counts its TLB misses. `show` sees the counts now and then.
///
/// # Errors
/// [`Failure::Wrong`] if traps cannot count the misses of this machine or policy. [`Failure`] of
/// the program if it cannot be run.
pub fn trap(
    request: &TrapRequest<'_>,
    show: &mut dyn FnMut(&TrapCounts),
) -> Result<Trapped, Failure> {
    let mut found = machines(&[request.machine.to_owned()])?;
    if found.len() != 1 {
        return Err(Failure::wrong(format!(
            "{} describes {} machines, and a run counts the misses of one",
            request.machine,
            found.len()
        )));
    }
    let machine = found.remove(0);
    let policy = names::policy(request.policy)?;
    let size = page_size(policy.as_ref())?;
    if !machine.design.sizes().contains(&size) {
        return Err(Failure::wrong(format!(
            "{}: its TLBs hold no pages of {}",
            machine.name,
            size.short_name()
        )));
    }
    let options = TrapOptions {
        command: request.command.to_vec(),
        design: machine.design.clone(),
        size,
        mechanism: request.mechanism,
        begin_at: None,
    };
    let finished = count(&options, show).map_err(|error| failure(error, &machine.name))?;
    let cost = |size| machine.costs.of(size).unwrap_or(0);
    let counts = finished.counts;
    let base_walks = counts.walks - counts.superpage_walks;
    let cycles = base_walks * cost(PageSize::SIZE_4K) + counts.superpage_walks * cost(size);
    Ok(result(
        request,
        &finished,
        (&machine.name, &policy.name()),
        cycles,
    ))
}

/// The page size of a system under a policy that traps can model.
fn page_size(policy: &dyn Policy) -> Result<PageSize, Failure> {
    let name = policy.name();
    if name == BASELINE {
        return Ok(PageSize::SIZE_4K);
    }
    let sizes = policy.needs().sizes;
    match sizes {
        SizeSet::These(shifts) if name.starts_with("fixed-") && sizes.is_one() => {
            Ok(PageSize::from_shift(shifts.trailing_zeros() as u8).unwrap_or(PageSize::SIZE_4K))
        }
        _ => Err(Failure::wrong(format!(
            "{name}: traps count the misses of base pages (4k) and of one page size (fixed-64k): \
             record the program and compare for other policies"
        ))),
    }
}

fn failure(error: TrapError, machine: &str) -> Failure {
    match error {
        TrapError::Program(RecordError::NoProgram { program, error }) => {
            Failure::cannot_run(&program, &error)
        }
        TrapError::Design(refused) => Failure::wrong(format!("{machine}: {refused}")),
        TrapError::Program(error) => Failure::wrong(error),
        other => Failure::failed(other),
    }
}

fn result(
    request: &TrapRequest<'_>,
    finished: &TrapFinished,
    (machine, policy): (&str, &str),
    walk_cycles: u64,
) -> Trapped {
    let counts = finished.counts;
    let command = request
        .command
        .iter()
        .map(|word| word.to_string_lossy().into_owned());
    let [user, system] = finished.processor;
    Trapped {
        schema: TRAP_SCHEMA.to_owned(),
        command: command.collect(),
        machine: machine.to_owned(),
        policy: policy.to_owned(),
        mechanism: match finished.mechanism {
            Mechanism::Userfaultfd => "userfaultfd".to_owned(),
            Mechanism::Protection => "protection".to_owned(),
        },
        exit_status: finished.status.code(),
        signal: finished.status.signal(),
        l1_misses: counts.first_misses,
        l2_hits: counts.second_hits,
        l3_hits: counts.third_hits,
        walks: counts.walks,
        superpage_walks: counts.superpage_walks,
        subblock_misses: counts.subblock_misses,
        walk_cycles,
        system_calls: counts.calls,
        calls_with_open_pages: counts.opened_for_calls,
        steps: counts.steps,
        threads: counts.threads,
        processes: counts.processes,
        programs: counts.programs,
        ended_early: counts.replaced != 0,
        elapsed_seconds: finished.elapsed.as_secs_f64(),
        user_seconds: user.as_secs_f64(),
        system_seconds: system.as_secs_f64(),
        provenance: provenance(request.configuration),
    }
}
