//! Maps of memory over time: one more replay, whose listener sees each block.
//!
//! The replay takes as long as one of the frame-level model without accelerators. So only a page,
//! or a user who asks, has maps.

mod fold;
mod record;
mod tree;

use std::num::NonZero;
use std::path::Path;
use std::sync::{Arc, PoisonError};

use broadleaf_machine::Machine;
use broadleaf_metrics::{AddressMap, Comparison};
use broadleaf_model::map::{MapRecorder, RecordedMaps};
use broadleaf_model::{MemoryLimits, Plan, StepListener, StepsWanted};
use broadleaf_policy::Policy;
use broadleaf_report::BASELINE;

use crate::advise::events_of;
use crate::advise::places::TracePlaces;
use crate::cache::{CachedPass, TraceCache};
use crate::compare::{available_threads, replay, within_machine};
use crate::failure::Failure;
use crate::memory::MemoryRequest;
use crate::policies_file::Named;
use crate::source::origin::{PassCount, can_be_opened_again};
use crate::source::{Trace, TraceReading, Whole};
use crate::watch::Watch;

/// The most bins of time of a map.
pub const MOST_BINS: u32 = 120;

/// A request for maps of a trace that was compared.
pub struct MapRequest<'a> {
    /// The trace: a file.
    pub trace: &'a Path,
    /// The policies. Without any, the policy that the comparison recommends and `4k`.
    pub policies: &'a [String],
    /// Policies with names of the user.
    pub named: &'a [Named],
    /// The machine.
    pub machine: &'a Machine,
    /// The memory of the frame-level model, if the user gave one.
    pub memory: Option<&'a MemoryRequest>,
    /// Reads a damaged trace up to the damage.
    pub keep_going: bool,
    /// The maximum number of accesses to read.
    pub max_accesses: Option<u64>,
    /// The number of threads; `None` for as many as the process may use.
    pub threads: Option<NonZero<usize>>,
    /// Holds reduced forms, which have all events.
    pub cache: Option<&'a TraceCache>,
    /// Receives the progress.
    pub watch: &'a dyn Watch,
}

/// Adds maps to a comparison. A trace that cannot be read again has no maps, and a note says so.
///
/// # Errors
/// If the trace cannot be read, or a policy is unknown.
pub fn add_maps(comparison: &mut Comparison, request: &MapRequest<'_>) -> Result<(), Failure> {
    let names = match request.policies {
        [] => usual(comparison, &request.machine.name),
        some => some.to_vec(),
    };
    if !can_be_opened_again(request.trace) {
        comparison.notes.push(format!(
            "no address-space map: the map reads the trace again, and {} can be read once",
            request.trace.display()
        ));
        return Ok(());
    }
    let mut policies: Vec<Box<dyn Policy>> = Vec::new();
    for name in names.iter().flat_map(|names| crate::names::apart(names)) {
        let known = request
            .named
            .iter()
            .find(|named| named.policy.name() == name || named.name == name.trim());
        let policy = match known {
            Some(named) => Box::new(named.policy.clone()) as Box<dyn Policy>,
            None => crate::names::policy(name)?,
        };
        if policies.iter().all(|other| other.name() != policy.name()) {
            policies.push(policy);
        }
    }
    let has_size =
        |memory: &&MemoryRequest| memory.memory.is_some() || memory.pagetypeinfo.is_some();
    let asked = request.memory.filter(has_size);
    let memory = comparison.memory.as_ref().map(|_| match asked {
        Some(memory) => memory.clone(),
        None => MemoryRequest::unlimited(),
    });
    comparison.maps = maps(
        policies,
        memory.as_ref(),
        comparison.trace.accesses,
        request,
    )?;
    Ok(())
}

/// The policy that is recommended on a machine, or the one with fewest walk cycles, and `4k`.
fn usual(comparison: &Comparison, machine: &str) -> Vec<String> {
    let here = || {
        let results = comparison.results.iter();
        results.filter(|result| result.machine == machine && result.policy != BASELINE)
    };
    let advised = comparison.advice.iter().find(|one| one.machine == machine);
    let advised = advised
        .map(|one| one.policy.clone())
        .filter(|one| one != BASELINE);
    let fewest = || here().min_by_key(|result| result.walk_cycles);
    let chosen = advised.or_else(|| Some(fewest()?.policy.clone()));
    chosen.into_iter().chain([BASELINE.to_owned()]).collect()
}

/// Replays a trace under policies, and returns a map of each.
///
/// # Errors
/// If the trace cannot be read.
fn maps(
    policies: Vec<Box<dyn Policy>>,
    memory: Option<&MemoryRequest>,
    accesses: u64,
    request: &MapRequest<'_>,
) -> Result<Vec<AddressMap>, Failure> {
    let names: Vec<String> = policies.iter().map(|policy| policy.name()).collect();
    let threads = request.threads.map_or_else(available_threads, NonZero::get);
    let machine = request.machine.clone();
    let machines = std::slice::from_ref(&machine);
    let reading = TraceReading {
        passes: PassCount::Several,
        keep_going: request.keep_going,
        fetches: memory.is_some_and(|memory| memory.code)
            || machine.caches.is_some()
            || !crate::machines::with_instruction_tlbs(machines).is_empty(),
        by_instruction: false,
        max_accesses: request.max_accesses,
    };
    let footprint = || {
        let (trace, cache, watch) = (request.trace, request.cache, request.watch);
        crate::memory::footprint(trace, &reading, threads, cache, watch)
    };
    let limits = match memory {
        Some(memory) => crate::memory::limits(memory, request.trace, footprint)?,
        None => None,
    };
    let limits = limits.map_or_else(MemoryLimits::none, |(limits, _)| limits);
    let plan = Plan::within(policies, vec![machine.clone()], limits).map_err(Failure::wrong)?;
    let recorded = RecordedMaps::default();
    let maps = Arc::clone(&recorded);
    let listener = move |policy: &str, machine: &str| -> Option<Box<dyn StepListener>> {
        let maps = Arc::clone(&maps);
        let recorder = MapRecorder::new(policy, machine, accesses, MOST_BINS, maps);
        Some(Box::new(recorder))
    };
    let plan = plan.with_listeners(StepsWanted::EachVisit, listener);
    let plan = within_machine(plan.on_threads(threads));
    let mut earlier = Vec::new();
    for path in memory.iter().flat_map(|memory| &memory.after) {
        earlier.push(Trace::open(path, reading, Whole::Memory)?);
    }
    let mut trace = Trace::open(request.trace, reading, Whole::Memory)?;
    let plan = match trace
        .header()
        .is_some_and(|header| !header.options.instruction_pages)
    {
        true => plan.without_fetches(),
        false => plan,
    };
    replay(&mut earlier, &mut trace, &plan, request.watch)?;
    trace.finish()?;
    let pass = CachedPass {
        path: request.trace,
        reading,
        machine: machine.clone(),
        threads,
        cache: request.cache,
        doing: "names of mappings",
        watch: request.watch,
    };
    let places: TracePlaces = events_of(&mut trace, &pass)?;
    let recorded = recorded.lock().unwrap_or_else(PoisonError::into_inner);
    let maps = names.iter().filter_map(|policy| {
        let key = (policy.clone(), machine.name.clone());
        let map = recorded.get(&key)?;
        Some(record::address_map(
            policy,
            &machine.name,
            accesses,
            map,
            &places,
        ))
    });
    Ok(maps.collect())
}
