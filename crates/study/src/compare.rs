//! A trace under several policies on several machines: from a request to an answer.

use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::Path;

use broadleaf_accel::covers_all;
use broadleaf_machine::Machine;
use broadleaf_metrics::{CellResult, Comparison, RanBefore};
use broadleaf_model::{Error, Outcome, Plan};
use broadleaf_policy::{Foresight, Policy};
use broadleaf_report::number::{grouped, size};
use broadleaf_report::{BASELINE, Context, REFERENCE, recommendations};

use crate::failure::Failure;
use crate::memory::MemoryRequest;
use crate::names;
use crate::policies_file::Named;
use crate::provenance::provenance;
use crate::shortage::{Done, left_out};
use crate::source::origin::Passes;
use crate::source::{ReadError, Reading, Trace, Whole, locate};
use crate::watch::{Task, Watch};

/// What is to be compared.
pub struct Request<'a> {
    /// The trace: a file, or `-` for standard input.
    pub trace: &'a Path,
    /// Reads a damaged trace up to the damage.
    pub keep_going: bool,
    /// The maximum number of accesses to read; `None` derives a limit from the trace's size.
    pub max_accesses: Option<u64>,
    /// The policies to compare.
    pub policies: AskedPolicies,
    /// The machines to compare on.
    pub machines: Vec<Machine>,
    /// On how many threads; as many as the process may use where `None`.
    pub threads: Option<NonZero<usize>>,
    /// Whether TLBs of other geometries are counted too.
    pub curves: bool,
    /// How much memory there is, where somebody could say.
    pub memory: Option<&'a MemoryRequest>,
    /// Receives the progress.
    pub watch: &'a dyn Watch,
}

/// A comparison, with the results of policies that nobody asked for but that others are measured against.
pub struct Answer {
    /// The results that were asked for.
    pub comparison: Comparison,
    /// The results of the policies that others are measured against.
    pub references: Vec<CellResult>,
    /// Policies that could decide for a live program.
    can_be_run: Vec<String>,
    /// Machines whose memory is modelled down to the frame only because of another machine.
    by_walks: Vec<String>,
}

impl Answer {
    /// Tells `of` what a report needs to know beside the comparison.
    pub fn with_context<T>(&self, of: impl FnOnce(&Comparison, &Context<'_>) -> T) -> T {
        let can_be_run = |policy: &str| self.can_be_run.iter().any(|name| name == policy);
        let context = Context {
            references: &self.references,
            can_be_run: &can_be_run,
            by_walks: &self.by_walks,
        };
        of(&self.comparison, &context)
    }
}

/// Replays the trace under every policy asked for, and under those of `extra` (names of the catalogue) as well.
///
/// # Errors
/// If the trace cannot be read, is damaged or empty, or holds more accesses than allowed; if the memory or a
/// policy does not fit it.
pub fn compare(request: Request<'_>, extra: &[&str]) -> Result<Answer, Failure> {
    let Request {
        trace,
        keep_going,
        max_accesses,
        policies: AskedPolicies {
            mut policies,
            spellings,
        },
        machines,
        threads,
        curves,
        memory,
        watch,
    } = request;
    let asked: Vec<String> = policies.iter().map(|policy| policy.name()).collect();
    let mut configuration = format!("{asked:?}\n{machines:?}");
    for name in extra
        .iter()
        .filter(|name| !asked.iter().any(|known| known == *name))
    {
        policies.push(broadleaf_policy::parse(name).map_err(Failure::failed)?);
    }
    let foresees = |policy: &dyn Policy| policy.needs().foresight != Foresight::None;
    let can_be_run = policies
        .iter()
        .filter(|policy| !foresees(policy.as_ref()))
        .map(|policy| policy.name())
        .collect();
    let passes = if policies.iter().any(|policy| foresees(policy.as_ref())) {
        Passes::Several
    } else {
        Passes::AsTold
    };
    let threads = threads.map_or_else(available_threads, NonZero::get);
    let reading = Reading {
        passes,
        keep_going,
        fetches: memory.is_some_and(|memory| memory.code),
        max_accesses,
    };
    let asks_for_memory =
        memory.is_some_and(|memory| memory.memory.is_some() || memory.pagetypeinfo.is_some());
    let needs_frames = covers_all(&policies, &machines)
        .err()
        .filter(|_| !asks_for_memory);
    let by_walks = match &needs_frames {
        Some(_) => crate::machines::without_frames(&policies, &machines),
        None => Vec::new(),
    };
    let unlimited = MemoryRequest::unlimited();
    let memory = match &needs_frames {
        Some(_) => Some(&unlimited),
        None => memory,
    };
    let limits = match memory {
        Some(memory) => crate::memory::limits(memory, trace, &reading)?,
        None => None,
    };
    if limits.is_some() && curves {
        return Err(Failure::Wrong(match needs_frames {
            Some(why) => format!(
                "{why}, and curves are counted only if memory is not modelled down to the frame: leave --curve out"
            ),
            None => {
                "curves need memory that is not limited: leave --memory or --curve out".to_owned()
            }
        }));
    }
    let mut done = None;
    let mut size_note = None;
    let plan = if let (Some((limits, footprint)), Some(memory)) = (limits, memory) {
        // What stood in memory at first is part of what was asked, too.
        configuration.push_str(&format!("\n{limits:?}\n{:?}", memory.after));
        size_note = crate::memory::size_note(memory, &limits);
        done = Some(Done {
            watch,
            trace,
            reading,
            threads,
            asked: crate::memory::told(memory, &limits, footprint),
            after_others: !memory.after.is_empty(),
            left_out: left_out(&policies[..asked.len()], &machines),
            limits: limits.clone(),
            machines: machines.clone(),
        });
        Plan::within(policies, machines, limits)
    } else {
        Plan::new(policies, machines)
    };
    let limited = done.is_some();
    let plan = plan.map_err(Failure::wrong)?.on_threads(threads);
    let plan = within_machine(plan);
    let plan = if curves { plan.with_curves() } else { plan };
    // Curves want visits that change nothing on any machine of the plan, and limited memory notices those as well.
    let mut trace = if limited {
        Trace::open(trace, reading, Whole::Memory)?
    } else if curves {
        Trace::open(trace, reading, Whole::Curve)?
    } else {
        Trace::open_for(trace, reading, plan.machines())?
    };
    let mut earlier = Vec::new();
    for path in memory.iter().flat_map(|memory| &memory.after) {
        earlier.push(Trace::open(path, reading, Whole::Memory)?);
    }
    let outcome = replay(&mut earlier, &mut trace, &plan, watch)?;
    trace.finish()?;
    refuse_empty(outcome.trace.accesses, &trace, "compare")?;
    if let Some(done) = &mut done {
        for trace in &mut earlier {
            trace.finish()?;
            done.asked.after.push(RanBefore {
                path: trace.name().to_owned(),
                hash: trace.hash().unwrap_or_default(),
            });
        }
    }
    let mut summary = outcome.trace;
    summary.path = trace.name().to_owned();
    summary.hash = trace.hash().unwrap_or_default();
    let mut notes = outcome.notes;
    notes.extend(size_note);
    if let Some(why) = needs_frames {
        notes.push(format!(
            "{why}: every policy has memory without limit, modelled down to the frame (--memory limits it)"
        ));
    }
    notes.extend(crate::machines::base_page_notes(&outcome.results));
    if let Some(choice) = outcome.choices.first() {
        let policy = &choice.policy;
        notes.push(format!(
            "x offline is how many times the cycles of {policy} a policy takes"
        ));
    }
    for trace in &earlier {
        if let Some(note) = trace.note() {
            let note = format!("{}: {note}", trace.name());
            log::warn!("{note}");
            notes.push(note);
        }
    }
    if let Some(note) = trace.note() {
        log::warn!("{}: {note}", trace.name());
        notes.push(note);
    }
    let is_reference =
        |result: &CellResult| [BASELINE, REFERENCE].contains(&result.policy.as_str());
    let references: Vec<CellResult> = outcome
        .results
        .iter()
        .filter(|result| is_reference(result))
        .cloned()
        .collect();
    let mut results = outcome.results;
    results.retain(|result| asked.contains(&result.policy));
    for result in &mut results {
        let place = asked.iter().position(|name| *name == result.policy);
        result.asked = place.map_or_else(String::new, |place| spellings[place].clone());
    }
    let told = match done {
        Some(done) => Some(done.told(&results, &references, summary.accesses, &mut notes)?),
        None => None,
    };
    let mut answer = Answer {
        comparison: Comparison::new(summary, results, notes, provenance(&configuration)),
        references,
        can_be_run,
        by_walks,
    };
    answer.comparison.memory = told;
    answer.comparison.advice = answer.with_context(recommendations);
    answer.comparison.damage = trace.damage();
    Ok(answer)
}

/// Refuses a trace without accesses, on which there is nothing to do.
///
/// # Errors
/// [`Failure::Wrong`] if `accesses` is 0.
pub fn refuse_empty(accesses: u64, trace: &Trace, doing: &str) -> Result<(), Failure> {
    if accesses > 0 {
        return Ok(());
    }
    let name = trace.name();
    Err(Failure::Wrong(match trace.damage() {
        Some(damage) => format!(
            "{name}: {damage}; what was read holds no load and no store, so there is nothing to {doing}"
        ),
        None => format!("{name}: holds no load and no store, so there is nothing to {doing}"),
    }))
}

/// Replays a trace in memory that others have used before.
///
/// # Errors
/// If a trace cannot be read, or if the replay refuses the trace.
pub fn replay(
    earlier: &mut [Trace],
    trace: &mut Trace,
    plan: &Plan,
    watch: &dyn Watch,
) -> Result<Outcome, Failure> {
    let all: Vec<_> = (earlier.iter().chain([&*trace]))
        .map(|trace| (trace.name().to_owned(), trace.work(), trace.meter()))
        .collect();
    let mut shown: Option<(_, Box<dyn Task>)> = None;
    let mut number = all.len() - 1;
    let mut show = |state: broadleaf_model::ReplayProgress| {
        number = state.earlier.unwrap_or(all.len() - 1);
        let (name, work, meter) = &all[number];
        let reading = (state.pass, state.trial, number);
        if shown.as_ref().is_none_or(|(known, _)| *known != reading) {
            let doing = match (state.trial, state.earlier, state.passes) {
                (Some(trial), ..) => format!("choosing: trial {trial}"),
                (None, Some(_), _) => format!("before it: {name}"),
                (None, None, 2..) => format!("pass {} of {}", state.pass, state.passes),
                (None, None, _) => "comparing".to_owned(),
            };
            shown = Some((reading, watch.begin(&doing, *work)));
        }
        if let Some((_, bar)) = &shown {
            bar.set(meter.bytes(), state.accesses);
        }
        ControlFlow::Continue(())
    };
    let outcome = broadleaf_accel::run_after(earlier, trace, plan, &mut show);
    drop(shown);
    outcome.map_err(|error| failure(error, &all[number].0))
}

/// Why a replay of the trace of that name failed.
pub fn failure(error: Error<ReadError>, name: &str) -> Failure {
    match error {
        Error::Source(error) => error.into(),
        Error::Stopped => Failure::failed("stopped"),
        error @ (Error::NoThreads { .. } | Error::Kept(_)) => Failure::failed(error),
        Error::NoRoom {
            needed,
            limit,
            blocks,
            policies,
        } => Failure::Failed(format!(
            "{name}: after {} blocks of 2 MiB, the model of {} takes {} of memory, and this process may take {}: compare fewer policies at a time, or on a machine with more memory",
            grouped(blocks as u64),
            match policies {
                1 => "one memory".to_owned(),
                memories => format!("{memories} memories"),
            },
            size(needed),
            size(limit)
        )),
        error @ Error::Memory(_) => Failure::wrong(error),
        Error::Address { address } => {
            not_canonical(name, address, locate::visit_of(name, address >> 12))
        }
        error @ (Error::Number { .. } | Error::TooManyBlocks { .. }) => {
            Failure::Wrong(format!("{name}: {error}"))
        }
    }
}

/// Refuses a trace with an address that no processor translates.
pub fn not_canonical(name: &str, address: u64, place: Option<String>) -> Failure {
    let place = place.map_or(String::new(), |place| format!(" ({place})"));
    let error = Error::<ReadError>::Address { address };
    Failure::Wrong(format!("{name}: {error}{place}: record the program again"))
}

/// A plan that is refused before it takes more memory than the machine lets this process have.
pub(crate) fn within_machine(plan: Plan) -> Plan {
    match crate::room::available() {
        Some(bytes) => plan.within_bytes(bytes),
        None => plan,
    }
}

/// How many threads this process may use at a time.
pub fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Policies, and the spelling under which the user asked for each: `life-1000` for the policy
/// `life-1e3`.
pub struct AskedPolicies {
    /// The policies.
    pub policies: Vec<Box<dyn Policy>>,
    /// One for each policy, in the same order.
    spellings: Vec<String>,
}

/// The policies of these names; `named` holds the names that the user gave to expressions. Without
/// names, all of `named`, or else the catalogue's default policies.
///
/// # Errors
/// [`Failure::Wrong`] if a name is unknown or a parameter is wrong.
pub fn policies(names: &[String], named: &[Named]) -> Result<AskedPolicies, Failure> {
    if names.is_empty() && named.is_empty() {
        let policies = broadleaf_policy::examples().map_err(Failure::failed)?;
        let spellings = policies.iter().map(|policy| policy.name()).collect();
        return Ok(AskedPolicies {
            policies,
            spellings,
        });
    }
    let mut asked: Vec<&str> = names.iter().flat_map(|names| names::apart(names)).collect();
    if names.is_empty() {
        asked = named.iter().map(|named| &*named.name).collect();
    }
    let mut policies: Vec<Box<dyn Policy>> = Vec::new();
    let mut spellings = Vec::new();
    for name in asked {
        let policy = names::policy_or(name, named)?;
        // The same policy twice would be the same result twice.
        if policies.iter().any(|other| other.name() == policy.name()) {
            log::warn!("{}", repeated(name.trim(), &policy.name()));
        } else {
            policies.push(policy);
            spellings.push(name.trim().to_owned());
        }
    }
    Ok(AskedPolicies {
        policies,
        spellings,
    })
}

/// What is said of a policy of that name that somebody calls so and that was named before.
fn repeated(written: &str, name: &str) -> String {
    let is = match written == name {
        true => String::new(),
        false => format!(" is {name}, which"),
    };
    format!("{written}{is} is named more than once, and compared once")
}
