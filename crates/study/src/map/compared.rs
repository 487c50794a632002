//! Maps of a comparison.

use std::num::NonZero;
use std::path::Path;

use broadleaf_machine::Machine;
use broadleaf_metrics::Comparison;
use broadleaf_model::MemoryLimits;
use broadleaf_policy::{Foresight, Policy};
use broadleaf_report::BASELINE;
use broadleaf_report::number::grouped;

use super::MapsOf;
use crate::advise::read_events;
use crate::cache::TraceCache;
use crate::compare::{ComparisonAnswer, Request, available_threads, compare, visit_ends};
use crate::failure::Failure;
use crate::memory::MemoryRequest;
use crate::policies_file::Named;
use crate::source::origin::{PassCount, can_be_opened_again};
use crate::source::{Trace, TraceReading, Whole};
use crate::watch::Watch;

/// Compares policies, and adds maps of memory over time. `maps` are the policies of the maps: none
/// for the usual ones, and `None` for no map. `named` are policies with names of the user.
///
/// # Errors
/// Those of [`compare`]; if a policy of the maps is unknown.
pub fn compare_with_maps(
    request: Request<'_>,
    extra: &[&str],
    maps: Option<&[String]>,
    named: &[Named],
) -> Result<ComparisonAnswer, Failure> {
    let machine = request.machines.first().cloned();
    let asked = AskedMaps {
        trace: request.trace,
        policies: maps.unwrap_or_default(),
        named,
        memory: request.memory,
        keep_going: request.keep_going,
        max_accesses: request.max_accesses,
        threads: request.threads,
        cache: request.cache,
        watch: request.watch,
    };
    let mut answer = compare(request, extra)?;
    if let (Some(_), Some(machine)) = (maps, machine) {
        asked.add_to(&mut answer.comparison, &machine)?;
    }
    Ok(answer)
}

/// A request for maps of a trace that was compared.
struct AskedMaps<'a> {
    trace: &'a Path,
    /// The policies. Without any, the policy that the comparison recommends and `4k`.
    policies: &'a [String],
    /// Policies with names of the user.
    named: &'a [Named],
    memory: Option<&'a MemoryRequest>,
    keep_going: bool,
    max_accesses: Option<u64>,
    threads: Option<NonZero<usize>>,
    cache: Option<&'a TraceCache>,
    watch: &'a dyn Watch,
}

impl AskedMaps<'_> {
    /// Adds maps to a comparison. A trace that cannot be read again has none, and a note says so.
    fn add_to(&self, comparison: &mut Comparison, machine: &Machine) -> Result<(), Failure> {
        let whole = || {
            let trace = Trace::open(self.trace, self.reading(machine, None), Whole::Memory);
            trace.is_ok()
        };
        if !can_be_opened_again(self.trace) || !whole() {
            comparison.notes.push(format!(
                "no address-space map: a map reads the whole trace again, and standard input or a \
                 reduced form was given ({})",
                self.trace.display()
            ));
            return Ok(());
        }
        let policies = self.policies(comparison, &machine.name)?;
        let has_size =
            |memory: &&MemoryRequest| memory.memory.is_some() || memory.pagetypeinfo.is_some();
        let asked = self.memory.filter(has_size);
        let memory = comparison.memory.as_ref().map(|_| match asked {
            Some(memory) => memory.clone(),
            None => MemoryRequest::unlimited(),
        });
        let reading = self.reading(machine, memory.as_ref());
        let threads = self.threads.map_or_else(available_threads, NonZero::get);
        let footprint = || {
            let (trace, cache, watch) = (self.trace, self.cache, self.watch);
            crate::memory::footprint(trace, &reading, threads, cache, watch, None)
        };
        let limits = match &memory {
            Some(memory) => crate::memory::limits(memory, self.trace, footprint)?,
            None => None,
        };
        let mut trace = Trace::open(self.trace, reading, Whole::Memory)?;
        let places = read_events(&mut trace, self.watch)?;
        let maps = MapsOf {
            path: self.trace,
            reading,
            machine,
            limits: limits.map_or_else(MemoryLimits::none, |(limits, _)| limits),
            earlier: memory.as_ref().map_or(&[], |memory| &memory.after),
            accesses: comparison.trace.accesses,
            threads,
            places: &places,
            watch: self.watch,
        };
        comparison.maps = maps.under(policies)?;
        for map in &mut comparison.maps {
            let mut results = comparison.results.iter();
            let result = results.find(|one| one.policy == map.policy && one.machine == map.machine);
            if let Some(result) = result
                && result.walk_cycles != map.walk_tree.walk_cycles
            {
                map.folded.push(format!(
                    "The table has {} walk cycles, and the map {}: forked processes share memory \
                     in the map's replay.",
                    grouped(result.walk_cycles),
                    grouped(map.walk_tree.walk_cycles)
                ));
            }
        }
        Ok(())
    }

    fn reading(&self, machine: &Machine, memory: Option<&MemoryRequest>) -> TraceReading {
        let machines = std::slice::from_ref(machine);
        TraceReading {
            passes: PassCount::Several,
            keep_going: self.keep_going,
            fetches: memory.is_some_and(|memory| memory.code)
                || machine.caches.is_some()
                || !crate::machines::with_instruction_tlbs(machines).is_empty(),
            ends: visit_ends(false, machines),
            max_accesses: self.max_accesses,
        }
    }

    /// The policies of the maps, each once.
    fn policies(
        &self,
        comparison: &Comparison,
        machine: &str,
    ) -> Result<Vec<Box<dyn Policy>>, Failure> {
        let names = match self.policies {
            [] => usual(comparison, machine),
            some => some.to_vec(),
        };
        let mut policies: Vec<Box<dyn Policy>> = Vec::new();
        for name in names.iter().flat_map(|names| crate::names::apart(names)) {
            let mut named = self.named.iter();
            let known =
                named.find(|named| named.policy.name() == name || named.name == name.trim());
            let policy = match known {
                Some(named) => Box::new(named.policy.clone()) as Box<dyn Policy>,
                None => crate::names::policy(name)?,
            };
            if policies.iter().all(|other| other.name() != policy.name()) {
                policies.push(policy);
            }
        }
        Ok(policies)
    }
}

/// The policy that is recommended on a machine, or the one with fewest walk cycles, and `4k`.
fn usual(comparison: &Comparison, machine: &str) -> Vec<String> {
    // A policy that knows the future explains less.
    let knows = |name: &str| {
        let policy = broadleaf_policy::parse(name);
        policy.is_ok_and(|policy| policy.needs().foresight != Foresight::None)
    };
    let others = comparison.results.iter().filter(|result| {
        result.machine == machine && result.policy != BASELINE && !knows(&result.policy)
    });
    let fewest = others.min_by_key(|result| result.walk_cycles);
    let mut advice = comparison.advice.iter();
    let advised = advice.find(|one| one.machine == machine && one.policy != BASELINE);
    let chosen = advised
        .map(|one| &one.policy)
        .or(fewest.map(|result| &result.policy));
    chosen
        .cloned()
        .into_iter()
        .chain([BASELINE.to_owned()])
        .collect()
}
