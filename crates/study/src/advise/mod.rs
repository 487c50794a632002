//! The parts of a program's memory that are worth superpages, and what each part gains.

pub mod formats;
mod location;
mod mappings;
pub mod mosalloc;
mod owners;
pub mod places;
mod pool;
mod ranges;
mod sites;
mod variables;
mod walks;

use std::num::NonZero;
use std::path::Path;

use broadleaf_machine::Machine;
use broadleaf_metrics::{ADVICE_SCHEMA, MemoryAsked, RangeAdvice, Recommendation};
use broadleaf_model::{Costs, Files, MemoryLimits, Plan};
use broadleaf_policy::{Foresight, Policy};
use broadleaf_report::{BASELINE, verdict};

use crate::answer::{AnsweredProgram, after_advice};
use crate::cache::{CachedPass, TraceCache};
use crate::compare::{available_threads, refuse_empty, replay, visit_ends, within_machine};
use crate::failure::Failure;
use crate::foreign::holds_samples;
use crate::map::MapsOf;
use crate::measured_ends::{measured_sentence, processor_time_saved};
use crate::output::argument;
use crate::provenance::provenance;
use crate::recording::repeated_notes;
use crate::shortage::{left_out, refuse_lacking};
use crate::source::origin::{PassCount, can_be_opened_again};
use crate::source::{Trace, TraceReading, Whole};
use crate::watch::Watch;
use crate::windows::warn_of_windows;
use crate::{costs, names, run_time};
use places::TracePlaces;

/// A request for advice on a trace.
pub struct AdviceRequest<'a> {
    /// The trace: a file, or `-` for standard input.
    pub trace: &'a Path,
    /// The policy that chooses, from [`choosing_policy`].
    pub policy: Box<dyn Policy>,
    /// The machine to advise for.
    pub machine: Machine,
    /// The place of file pages before their first use.
    pub files: Files,
    /// Event costs in cycles; `None` for the defaults.
    pub costs: Option<Costs>,
    /// The order of the ranges.
    pub by: RankBy,
    /// The number of threads; `None` for as many as the process may use.
    pub threads: Option<NonZero<usize>>,
    /// Reads a damaged trace up to the damage.
    pub keep_going: bool,
    /// The maximum number of accesses to read; `None` derives a limit from the trace's size.
    pub max_accesses: Option<u64>,
    /// Holds the reduced form of the trace for the pass over the mappings, or keeps the form. The
    /// replays need each visit and read the trace.
    pub cache: Option<&'a TraceCache>,
    /// Record maps of memory over time, with the chosen superpages and without.
    pub maps: bool,
    /// Receives the progress.
    pub watch: &'a dyn Watch,
}

/// The order of ranges, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankBy {
    /// By the cycles that a range gains.
    Gain,
    /// By the cycles that each byte of a range's superpages gains.
    Byte,
}

impl RankBy {
    /// The name of the order in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gain => "gain",
            Self::Byte => "byte",
        }
    }
}

/// Returns the policy of that name, if it chooses with the whole trace in view.
///
/// # Errors
/// If there is no such policy, or it chooses without the whole trace.
pub fn choosing_policy(name: &str) -> Result<Box<dyn Policy>, Failure> {
    let policy = names::policy(name)?;
    if matches!(policy.needs().foresight, Foresight::Cheapest(_)) {
        return Ok(policy);
    }
    Err(Failure::Wrong(format!(
        "{} does not look at the whole trace, so it gives no advice: --policy takes offline, with \
         parameters (`broadleaf explain offline`)",
        policy.name()
    )))
}

/// Returns the gains of a program's superpages, and the places of its mappings.
///
/// # Errors
/// If the trace cannot be read, or the machine lacks what the policy makes.
pub fn advise(request: AdviceRequest<'_>) -> Result<(RangeAdvice, TracePlaces), Failure> {
    let machine = request.machine.clone();
    if let Some(size) = machine.fractured.first() {
        return Err(Failure::Wrong(format!(
            "pages of {} are fractured on {}, so no range spares walks there: give another machine \
             by --machine to see where walks happen",
            size.short_name(),
            machine.name
        )));
    }
    let policy = names::policy(&request.policy.name())?;
    let name = policy.name();
    let exact = is_exact(&machine);
    let limits = limits(request.files, request.costs);
    let memory = asked(&limits);
    let mapped = limits.clone();
    let configuration = format!("{name}\n{machine:?}\n{limits:?}");
    let machines = vec![machine.clone()];
    let baseline = broadleaf_policy::parse(BASELINE).map_err(Failure::failed)?;
    let policies = vec![baseline, policy];
    refuse_lacking(&policies[1..], &machines)?;
    let left_out = left_out(&policies[1..], &machines);
    let threads = request.threads.map_or_else(available_threads, NonZero::get);
    let plan = Plan::within(policies, machines, limits).map_err(Failure::wrong)?;
    let plan = within_machine(plan.on_threads(threads).with_ranges());
    let reading = TraceReading {
        ends: visit_ends(false, plan.machines()),
        passes: PassCount::Several,
        keep_going: request.keep_going,
        fetches: false,
        max_accesses: request.max_accesses,
    };
    let mut trace = Trace::open(request.trace, reading, Whole::Advice)?;
    warn_of_windows(&trace);
    if trace.header().is_some_and(|header| header.options.system) {
        return Err(Failure::wrong(
            "this trace holds a whole system without the mappings of its programs, so there are no \
             ranges to advise: record the program alone, without --engine qemu-system",
        ));
    }
    let outcome = replay(&mut [], &mut trace, &plan, request.watch)?;
    trace.finish()?;
    refuse_empty(outcome.trace.accesses, &trace, "advise on")?;
    let pass = CachedPass {
        path: request.trace,
        reading,
        machine: machine.clone(),
        threads,
        cache: request.cache,
        doing: mappings::DOING,
        watch: request.watch,
    };
    let places = events_of(&mut trace, &pass)?;
    let mut summary = outcome.trace;
    summary.samples = trace.header().is_some_and(holds_samples);
    summary.path = trace.name().to_owned();
    summary.hash = trace.hash().unwrap_or_default();
    let notes = outcome.notes.into_iter().map(|note| note.text);
    let mut notes: Vec<String> = notes.collect();
    notes.extend(trace.header().into_iter().flat_map(repeated_notes));
    if let Some(note) = trace.note() {
        log::warn!("{}: {note}", trace.name());
        notes.push(note);
    }
    notes.extend(left_out);
    let chosen = outcome.choices.iter().find(|choice| choice.policy == name);
    let ranges = chosen.map_or_else(Vec::new, |choice| {
        ranges::ranked(choice, &places, request.by)
    });
    let sites = match chosen.filter(|_| places.has_sites()) {
        Some(choice) => {
            let walks = match can_be_opened_again(request.trace) {
                true => walks::of_choice(&request, reading, threads, choice)?,
                false => walks::PageWalks::new(),
            };
            notes.extend(sites::unnamed_python(&places.owners));
            sites::by_site(choice, &places.owners, &walks)
        }
        None => Vec::new(),
    };
    let maps = match request.maps && can_be_opened_again(request.trace) {
        true => MapsOf {
            path: request.trace,
            reading,
            machine: &machine,
            limits: mapped,
            earlier: &[],
            accesses: summary.accesses,
            threads,
            places: &places,
            watch: request.watch,
        }
        .under(vec![names::policy(&name)?, names::policy(BASELINE)?])?,
        false => Vec::new(),
    };
    let mut results = outcome.results;
    if let [without, with] = &mut results[..] {
        with.run_time = run_time::estimate(with, without, &summary, &machine);
    }
    let mut advice = RangeAdvice {
        schema: ADVICE_SCHEMA.to_owned(),
        trace: summary,
        policy: name,
        machine: machine.name,
        exact,
        memory,
        spaces: places.processes.len().max(1) as u64,
        ranked_by: request.by.name().to_owned(),
        ranges_left_out: 0,
        ranges,
        sites,
        results,
        maps,
        damage: trace.damage(),
        notes,
        advice: Recommendation::default(),
        provenance: provenance(&configuration),
    };
    let header = trace.header();
    let measured = header.and_then(|header| header.measured.as_ref());
    advice.advice = verdict(&advice, measured.and_then(processor_time_saved));
    if let Some(measured) = measured {
        let sentence = measured_sentence(measured);
        advice.advice.run_time = Some(format!("Measured, with all huge pages: {sentence}."));
    }
    advice.advice.commands = after_advice(
        &advice,
        &AnsweredProgram::of(header),
        &argument(request.trace),
        places.has_recorded_sites(),
    );
    Ok((advice, places))
}

/// Reads the places of a trace's mappings and its allocation sites. The trace was read to its end.
///
/// # Errors
/// If the trace is damaged or unreadable.
fn events_of(trace: &mut Trace, pass: &CachedPass<'_>) -> Result<TracePlaces, Failure> {
    let places = mappings::places(trace, pass)?;
    Ok(with_variables(places, trace))
}

/// Reads the places of a trace's mappings and its allocation sites, in a pass over the trace.
///
/// # Errors
/// If the trace is damaged or unreadable.
pub(crate) fn read_events(trace: &mut Trace, watch: &dyn Watch) -> Result<TracePlaces, Failure> {
    let places = mappings::of_events(trace, watch)?;
    Ok(with_variables(places, trace))
}

/// Adds the variables of the program, if the trace has no allocation sites.
fn with_variables(mut places: TracePlaces, trace: &Trace) -> TracePlaces {
    if !places.has_sites()
        && let Some(program) = trace.header().and_then(|header| header.program.as_ref())
    {
        variables::add_variables(&mut places, program);
        places.has_variables_of_file = true;
    }
    places
}

/// Returns true if the TLB is the one that choices assume: one fully associative structure.
fn is_exact(machine: &Machine) -> bool {
    match machine.design.structures() {
        [one] => one.sets() == 1,
        _ => false,
    }
}

/// Memory without limit, with these files and costs.
fn limits(files: Files, costs: Option<Costs>) -> MemoryLimits {
    MemoryLimits {
        files,
        costs: costs.unwrap_or_default(),
        ..MemoryLimits::none()
    }
}

/// The limits in their form in results.
fn asked(limits: &MemoryLimits) -> MemoryAsked {
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
