//! Plans whose machines all observe one memory for each policy.

use super::Plan;
use crate::plan_error::check_base_pages;
use crate::{MemoryLimits, PlanError};
use broadleaf_machine::Machine;
use broadleaf_policy::Policy;
use broadleaf_trace::Grain;
use broadleaf_units::PageSize;
use std::collections::BTreeSet;

impl Plan {
    /// A plan as [`Plan::within`] makes it, in which all machines observe one memory for each
    /// policy, with the page sizes of all of them. A TLB that lacks a size holds smaller parts of
    /// such pages.
    ///
    /// # Errors
    /// Those of [`Plan::within`], and an error if the machines differ in their base pages.
    pub fn within_one_memory(
        policies: Vec<Box<dyn Policy>>,
        machines: Vec<Machine>,
        limits: MemoryLimits,
    ) -> Result<Self, PlanError> {
        check_base_pages(&machines)?;
        let mut plan = Self::of(policies, machines)?;
        plan.one_memory = true;
        plan.limited_to(limits)
    }

    /// Returns true if all machines observe one memory for each policy.
    pub const fn has_one_memory(&self) -> bool {
        self.one_memory
    }

    /// The page sizes of a machine's memory, smallest first: those of the machine, or of all.
    pub(crate) fn sizes_on(&self, machine: &Machine) -> Vec<PageSize> {
        if !self.one_memory {
            return machine.page_sizes();
        }
        let all: BTreeSet<PageSize> = self.machines.iter().flat_map(Machine::page_sizes).collect();
        all.into_iter().collect()
    }

    /// Returns an error if a trace of this grain cannot be one program of a mix.
    pub(crate) fn check_mixed(&self, grain: Grain, holds_system: bool) -> Result<(), String> {
        match holds_system {
            true => Err("a mix takes no trace of a whole system".to_string()),
            false => self.check_grain(grain),
        }
    }
}
