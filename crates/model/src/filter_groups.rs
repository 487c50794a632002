//! The filters of a replay: one for each group of machines that a filter knows together.
//!
//! One filter for all machines would leave out little, or nothing, if two of them kept pages in
//! different orders. So machines of different groups observe worlds of their own, and each world
//! has the filter of its group.

use crate::filter::{Filtered, SharedFilter};
use crate::visit_slice::VisitSlice;
use crate::{MemoryLimits, Plan, StepsWanted};
use broadleaf_filter::Recency;
use broadleaf_policy::Foresight;
use broadleaf_tlb::Design;
use broadleaf_trace::reduced::{KeptVisit, Sums};

impl Plan {
    /// The designs of the plan's TLBs, in groups that a filter knows together. Designs that no
    /// filter knows are in none. Machines of one memory for each policy are never apart.
    pub fn filter_groups(&self) -> Vec<Vec<&Design>> {
        let designs = || self.machines().iter().map(|machine| &machine.design);
        match self.has_one_memory() {
            true if Recency::covers(designs()) => vec![designs().collect()],
            true => Vec::new(),
            false => Recency::groups(designs()),
        }
    }
}

/// The groups of designs that have a filter in a replay.
#[derive(Debug, Default)]
pub(super) struct FilterGroups<'d>(Vec<Vec<&'d Design>>);

impl<'d> FilterGroups<'d> {
    /// The groups of a plan within these limits: none if every visit matters.
    pub(super) fn new(plan: &'d Plan, limits: &MemoryLimits) -> Self {
        let mut policies = plan.policies().iter();
        let records = policies.any(|one| matches!(one.needs().foresight, Foresight::Cheapest(_)));
        let all_matter = limits.code
            || records
            || plan.replays_all_visits()
            || plan
                .steps_wanted()
                .is_some_and(|wanted| wanted != StepsWanted::EachChange)
            || plan.has_caches();
        if all_matter {
            return Self::default();
        }
        Self(plan.filter_groups())
    }

    /// The number of a design's group; `None` if no filter knows the design.
    pub(super) fn of(&self, design: &Design) -> Option<usize> {
        self.0.iter().position(|group| group.contains(&design))
    }

    /// An empty filter for each group.
    pub(super) fn filters(&self) -> SharedFilters {
        let filter = |group: &Vec<&Design>| SharedFilter::new(group.iter().copied());
        SharedFilters(self.0.iter().map(filter).collect())
    }
}

/// The filters of all groups.
#[derive(Debug, Default)]
pub(super) struct SharedFilters(Vec<SharedFilter>);

impl SharedFilters {
    /// The filter of that number.
    pub(super) fn get(&self, number: usize) -> Option<&SharedFilter> {
        self.0.get(number)
    }

    /// Begins a part of the trace, whose words have another vocabulary.
    pub(super) fn begin_trace_part(&mut self) {
        self.0.iter_mut().for_each(SharedFilter::begin_trace_part);
    }

    /// Filters more visits of a part, and adds them to `sums`. Returns the visits that one of the
    /// filters kept: each page that the visits reach is among them or among earlier ones. `None` if
    /// all filters rest: then nothing is added.
    pub(super) fn filter(
        &mut self,
        visits: &VisitSlice<'_>,
        shift: u32,
        sums: &mut Sums,
    ) -> Option<&[KeptVisit]> {
        let before = *sums;
        let mut kept = None;
        for filter in self.0.iter_mut().filter(|filter| !filter.rests()) {
            *sums = before;
            kept = Some(filter.filter(visits, shift, sums));
        }
        kept
    }

    /// Ends a part whose visits add up to `sums`.
    pub(super) fn end_part(&mut self, sums: &Sums) {
        let at_work = self.0.iter_mut().filter(|filter| !filter.rests());
        at_work.for_each(|filter| filter.end_part(sums));
    }

    /// The visits of the part that ended, filtered for a group. `None` if the group has no filter,
    /// or its filter rests.
    pub(super) fn filtered(&self, group: Option<usize>) -> Option<&Filtered> {
        let filter = self.0.get(group?)?;
        (!filter.rests()).then(|| filter.filtered())
    }

    /// Makes room for the next part. The part before it has `visits` visits.
    pub(super) fn clear(&mut self, visits: usize) {
        self.0.iter_mut().for_each(|filter| filter.clear(visits));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(policies: &[&str], machines: &[&str]) -> Plan {
        let policy = |name: &&str| broadleaf_policy::parse(name).expect("a policy");
        let machine = |name: &&str| broadleaf_machine::machine(name).expect("a machine");
        let policies = policies.iter().map(policy).collect();
        let machines = machines.iter().map(machine).collect();
        let plan = Plan::within(policies, machines, MemoryLimits::none()).expect("a plan");
        plan.without_fetches()
    }

    /// The number of the group of each machine.
    fn numbers(plan: &Plan) -> Vec<Option<usize>> {
        let groups = FilterGroups::new(plan, &MemoryLimits::none());
        let machines = plan.machines().iter();
        machines.map(|machine| groups.of(&machine.design)).collect()
    }

    #[test]
    fn machines_without_an_order_in_common_have_filters_of_their_own() {
        let names = ["skylake", "zen4", "c910", "neoverse-n1", "skylake"];
        let groups = numbers(&plan(&["4k"], &names));
        assert_eq!(groups, [Some(0), Some(1), None, Some(1), Some(0)]);
    }

    #[test]
    fn no_machine_is_filtered_where_every_visit_matters() {
        let all = plan(&["4k"], &["skylake", "zen4"]).with_all_visits();
        assert_eq!(numbers(&all), [None, None]);
        let chosen = plan(&["offline"], &["skylake", "zen4"]);
        assert_eq!(numbers(&chosen), [None, None]);
    }
}
