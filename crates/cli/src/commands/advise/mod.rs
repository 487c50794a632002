//! `advise`: which parts of a program's memory are worth superpages, and what each gains.

mod mosalloc;
mod places;
mod pool;
mod ranges;

use std::io::Write;
use std::num::NonZero;
use std::path::Path;

use broadleaf_engine::{Files, Limits, Plan};
use broadleaf_metrics::{ADVICE_SCHEMA, MemoryAsked, RangeAdvice};
use broadleaf_policy::{Foresight, Policy};
use broadleaf_report::{BASELINE, NOTHING_PAYS, View, cbmm, madvise, range_table};
use broadleaf_translation::Machine;

use super::compare::{available_threads, machine, refuse_empty, replay, within_machine};
use super::shortage::{left_out, refuse_lacking};
use super::{costs, names};
use crate::args::{Advise, AdviseFormat, FilesAt};
use crate::failure::Failure;
use crate::output::json;
use crate::provenance::provenance;
use crate::source::origin::Passes;
use crate::source::{Reading, Trace, Whole};
use places::Places;

/// How many ranges the table has unless one says otherwise.
const ROWS: usize = 20;

pub(crate) fn run(options: &Advise, view: View) -> Result<(), Failure> {
    let read = [&*options.trace, Path::new(&options.machine)];
    options.result.refuse(read)?;
    let machine = machine(&options.machine)?;
    let policy = policy(&options.policy)?;
    let mut out = options.result.create()?;
    let view = options.result.view(view);
    let (mut advice, places) = advise(options, policy, machine)?;
    let most = options.top.map_or_else(
        || match options.format {
            AdviseFormat::Table => ROWS,
            _ => usize::MAX,
        },
        NonZero::get,
    );
    // A format that cannot express all ranges counts those that it can.
    let (text, notes) = match options.format {
        AdviseFormat::Table => (range_table(&advice, most, view), Vec::new()),
        AdviseFormat::Json => {
            advice.keep_best(most);
            (json(&advice)?, Vec::new())
        }
        AdviseFormat::Madvise => (madvise(&advice, most), Vec::new()),
        AdviseFormat::Cbmm => cbmm(&advice, most),
        AdviseFormat::Mosalloc => mosalloc::layout(&advice, &places, most),
    };
    if advice.ranges.is_empty() && options.format != AdviseFormat::Table {
        say!("{NOTHING_PAYS}");
    }
    for note in notes {
        say!("{note}");
    }
    out.write_all(text.as_bytes())
        .map_err(|error| Failure::writing(out.name(), &error))?;
    out.finish()
}

/// The policy of that name, if it chooses with the whole trace in view.
fn policy(name: &str) -> Result<Box<dyn Policy>, Failure> {
    let policy = names::policy(name)?;
    if matches!(policy.needs().foresight, Foresight::Cheapest(_)) {
        return Ok(policy);
    }
    Err(Failure::Wrong(format!(
        "{} does not look at the whole trace, so it gives no advice: --policy takes offline, with parameters (`broadleaf explain offline`)",
        policy.name()
    )))
}

/// What a program's superpages gain, and where its mappings stand.
fn advise(
    options: &Advise,
    policy: Box<dyn Policy>,
    machine: Machine,
) -> Result<(RangeAdvice, Places), Failure> {
    let name = policy.name();
    let machine_name = machine.name.clone();
    let exact = is_exact(&machine);
    let limits = limits(options);
    let memory = asked(&limits);
    let configuration = format!("{name}\n{machine:?}\n{limits:?}");
    let machines = vec![machine];
    let baseline = broadleaf_policy::parse(BASELINE).map_err(Failure::failed)?;
    let policies = vec![baseline, policy];
    refuse_lacking(&policies[1..], &machines)?;
    let left_out = left_out(&policies[1..], &machines);
    let threads = options.threads.map_or_else(available_threads, NonZero::get);
    let plan = Plan::within(policies, machines, limits).map_err(Failure::wrong)?;
    let plan = within_machine(plan.on_threads(threads).telling_ranges());
    let reading = Reading {
        passes: Passes::Several,
        keep_going: options.keep_going,
        fetches: false,
        max_accesses: options.bound.max_accesses,
    };
    let mut trace = Trace::open(&options.trace, reading, Whole::Advice)?;
    let outcome = replay(&mut [], &mut trace, &plan)?;
    trace.finish()?;
    refuse_empty(outcome.trace.accesses, &trace, "advise on")?;
    let places = places::find(&mut trace)?;
    let mut summary = outcome.trace;
    summary.path = trace.name().to_owned();
    summary.hash = trace.hash().unwrap_or_default();
    let mut notes = outcome.notes;
    if let Some(note) = trace.note() {
        say!("{}: {note}", trace.name());
        notes.push(note);
    }
    notes.extend(left_out);
    let chosen = outcome.choices.iter().find(|choice| choice.policy == name);
    let ranges = chosen.map_or_else(Vec::new, |choice| {
        ranges::ranked(choice, &places, options.by)
    });
    let advice = RangeAdvice {
        schema: ADVICE_SCHEMA.to_owned(),
        trace: summary,
        policy: name,
        machine: machine_name,
        exact,
        memory,
        spaces: places.processes.len().max(1) as u64,
        ranked_by: options.by.name().to_owned(),
        ranges_left_out: 0,
        ranges,
        results: outcome.results,
        damage: trace.damage(),
        notes,
        provenance: provenance(&configuration),
    };
    Ok((advice, places))
}

/// Whether a TLB is what choices are made for: one structure, any entry of which holds any page.
fn is_exact(machine: &Machine) -> bool {
    match machine.design.structures() {
        [one] => one.sets() == 1,
        _ => false,
    }
}

/// Memory that does not run short.
fn limits(options: &Advise) -> Limits {
    Limits {
        files: match options.files {
            FilesAt::Disk => Files::OnDisk,
            FilesAt::Memory => Files::InMemory,
        },
        costs: options.costs.unwrap_or_default(),
        ..Limits::none()
    }
}

/// The same for whoever reads the advice.
fn asked(limits: &Limits) -> MemoryAsked {
    MemoryAsked {
        start: "empty".to_owned(),
        files: match limits.files {
            Files::OnDisk => "disk",
            Files::InMemory => "memory",
        }
        .to_owned(),
        costs: costs::by_name(&limits.costs),
        costs_changed: costs::changed(&limits.costs),
        ..MemoryAsked::default()
    }
}
