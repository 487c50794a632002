//! Maps of memory over time: one more replay, whose listener sees each block.
//!
//! The replay takes as long as one of the frame-level model without accelerators. So only a page,
//! or a user who asks, has maps.

mod compared;
mod fold;
mod record;
mod tree;

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use broadleaf_machine::Machine;
use broadleaf_metrics::AddressMap;
use broadleaf_model::map::{MapRecorder, RecordedMaps};
use broadleaf_model::{MemoryLimits, Plan, StepListener, StepsWanted};
use broadleaf_policy::Policy;

use crate::advise::places::TracePlaces;
use crate::compare::{replay, within_machine};
use crate::failure::Failure;
use crate::source::{Trace, TraceReading, Whole};
use crate::watch::Watch;

pub use compared::compare_with_maps;

/// The most bins of time of a map.
pub const MOST_BINS: u32 = 120;

/// Maps to make.
pub(crate) struct MapsOf<'a> {
    /// The trace.
    pub(crate) path: &'a Path,
    pub(crate) reading: TraceReading,
    pub(crate) machine: &'a Machine,
    pub(crate) limits: MemoryLimits,
    /// Traces that run before in the same memory.
    pub(crate) earlier: &'a [PathBuf],
    /// The accesses of the trace.
    pub(crate) accesses: u64,
    pub(crate) threads: usize,
    /// The names of mappings and sites.
    pub(crate) places: &'a TracePlaces,
    pub(crate) watch: &'a dyn Watch,
}

impl MapsOf<'_> {
    /// Replays the trace under policies, and returns a map of each.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub(crate) fn under(&self, policies: Vec<Box<dyn Policy>>) -> Result<Vec<AddressMap>, Failure> {
        let names: Vec<String> = policies.iter().map(|policy| policy.name()).collect();
        let (accesses, machine) = (self.accesses, self.machine);
        let plan = Plan::within(policies, vec![machine.clone()], self.limits.clone());
        let plan = plan.map_err(Failure::wrong)?;
        let recorded = RecordedMaps::default();
        let maps = Arc::clone(&recorded);
        let listener = move |policy: &str, machine: &str| -> Option<Box<dyn StepListener>> {
            let maps = Arc::clone(&maps);
            let recorder = MapRecorder::new(policy, machine, accesses, MOST_BINS, maps);
            Some(Box::new(recorder))
        };
        let plan = plan.with_listeners(StepsWanted::EachChange, listener);
        let plan = within_machine(plan.on_threads(self.threads));
        let mut earlier = Vec::new();
        for path in self.earlier {
            earlier.push(Trace::open(path, self.reading, Whole::Memory)?);
        }
        let mut trace = Trace::open(self.path, self.reading, Whole::Memory)?;
        let header = trace.header();
        let plan = match header.is_none_or(|header| header.options.instruction_pages) {
            true => plan,
            false => plan.without_fetches(),
        };
        replay(&mut earlier, &mut trace, &plan, self.watch)?;
        trace.finish()?;
        let recorded = recorded.lock().unwrap_or_else(PoisonError::into_inner);
        let maps = names.iter().filter_map(|policy| {
            let key = (policy.clone(), machine.name.clone());
            let map = recorded.get(&key)?;
            let (machine, places) = (&machine.name, self.places);
            Some(record::address_map(policy, machine, accesses, map, places))
        });
        Ok(maps.collect())
    }
}
