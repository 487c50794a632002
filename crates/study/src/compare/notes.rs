//! Notes of a comparison: what the interpretation of its figures needs.

use std::path::Path;

use broadleaf_accel::WhyNot;
use broadleaf_machine::Machine;
use broadleaf_metrics::CellResult;
use broadleaf_model::{Choice, Plan};
use broadleaf_trace::Header;

use crate::foreign::is_imported;
use crate::machines;
use crate::recording::repeated_notes;
use crate::run_time::{base_at_faults, frames_matter};
use crate::source::{Trace, header_of};

/// Notes on the memory and the machines of a plan, and those that the trace at `path` holds for
/// each answer.
pub(super) fn of_plan(
    plan: &Plan,
    needs_frames: Option<&WhyNot>,
    results: &[CellResult],
    trace: &Trace,
    path: &Path,
) -> Vec<String> {
    // The reduced form of a trace has another head.
    let head = trace.header().cloned().or_else(|| header_of(path));
    let mut notes: Vec<String> = head.iter().flat_map(repeated_notes).collect();
    if let Some(why) = needs_frames {
        notes.push(format!(
            "{why}: every policy has memory without limit, modelled down to the frame (--memory \
             limits it)"
        ));
    }
    notes.extend(head.as_ref().and_then(|head| of_zero_page(plan, head)));
    notes.extend(of_frames(plan));
    notes.extend(plan.machines().iter().filter_map(of_fractured));
    notes.extend(machines::base_page_notes(results));
    notes.extend(machines::instruction_note(plan.machines(), trace.header()));
    notes.extend(machines::area_note(plan.machines()));
    notes.extend(machines::unpriced_note(plan.machines()));
    notes
}

/// The note on policies that take memory for zeroes if a foreign trace has no store to it. The
/// program may have stored to it before the trace began.
fn of_zero_page(plan: &Plan, head: &Header) -> Option<String> {
    if !is_imported(head) {
        return None;
    }
    let policies = plan.policies().iter();
    let names = policies.filter(|policy| policy.needs().zero_page);
    let names: Vec<String> = names.map(|policy| policy.name()).collect();
    if names.is_empty() {
        return None;
    }
    let is_of_linux = names.iter().any(|name| name.starts_with("linux"));
    let remedy = match is_of_linux {
        true => " (zero_page=off among the settings of linux gives it frames)",
        false => "",
    };
    Some(format!(
        "{}: memory that the trace only loads is taken for zeroes, without frames; the program may \
         have stored to it before the trace began{remedy}",
        names.join(", ")
    ))
}

/// The note on policies whose base pages seldom share the entries of a machine.
fn of_frames(plan: &Plan) -> Option<String> {
    let base = base_at_faults(plan.policies(), plan.machines())?;
    let machines = plan.machines().iter();
    let names = machines.filter(|machine| frames_matter(machine));
    let names: Vec<&str> = names.map(|machine| machine.name.as_str()).collect();
    Some(format!(
        "on {}, base pages share an entry if their frames lie side by side; such frames are rare \
         with linux and other policies that allocate them at faults: {base} has as few, and 4k has \
         more",
        names.join(", ")
    ))
}

/// The note on superpages that enter a machine's TLB in pieces.
fn of_fractured(machine: &Machine) -> Option<String> {
    let size = machine.fractured.first()?.short_name();
    Some(format!(
        "pages of {size} enter the TLB of {} in pieces, since its host maps small pages: they \
         spare no walks there, and make them shorter",
        machine.name
    ))
}

/// The note on measured seconds: their processor may be another than the modelled one.
pub(super) fn of_seconds(results: &[CellResult], head: Option<&Header>) -> Option<String> {
    let has_seconds = |result: &CellResult| {
        result
            .run_time
            .is_some_and(|time| time.user_seconds.is_some())
    };
    // The parts of the text are the kernel, the processor and the setting of huge pages.
    let processor = head?.machine.split("; ").nth(1)?;
    results.iter().any(has_seconds).then(|| {
        format!(
            "seconds were measured on {processor}; the modelled machine only shares them out \
             between policies, by its walks"
        )
    })
}

/// The note on a policy that chose with the whole trace in view.
pub(super) fn of_choice(choice: &Choice) -> String {
    let policy = &choice.policy;
    format!("x offline is how many times the cycles of {policy} a policy takes")
}

/// The note on Linux's policy with the settings of this machine, if it is left out.
pub(super) fn of_kernel(policy: &str) -> String {
    format!(
        "{policy}, the settings of this machine, is left out: its replay reads a whole trace again, \
         and standard input or a reduced form was given"
    )
}

/// The note on what is missing of a trace, with a warning. A trace that ran before is named.
pub(super) fn of_trace(trace: &Trace, ran_before: bool) -> Option<String> {
    let note = trace.note()?;
    log::warn!("{}: {note}", trace.name());
    Some(match ran_before {
        true => format!("{}: {note}", trace.name()),
        false => note,
    })
}
