//! A part of a plan: some of its policies on some of its machines.

use super::Plan;

impl Plan {
    /// The plan of some of these policies on some of these machines, by their places. Everything
    /// else is as in this plan.
    ///
    /// Returns `None` if results of the plan do not depend on their own policy and machine alone
    /// ([`PlanIdentity::is_by_cell`](super::identity::PlanIdentity)), or if there is no policy or
    /// machine in such a place.
    pub fn part(&self, policies: &[usize], machines: &[usize]) -> Option<Self> {
        if !self.identity()?.is_by_cell {
            return None;
        }
        // A field that is added has to be named here.
        let Self {
            policies: all_policies,
            foreseen: _,
            baseline: _,
            machines: all_machines,
            most_blocks,
            most_kept,
            most_next_uses,
            keeps_reduced,
            expected,
            most_course,
            threads,
            segments,
            around_workers,
            curves,
            ranges: _,
            limits,
            layouts: _,
            most_bytes,
            interim: _,
            frames: _,
            tables,
            all_visits,
            restarts,
            listening: _,
            one_memory: _,
        } = self;
        let policy = |&place: &usize| {
            let name = all_policies.get(place)?.name();
            let policy = broadleaf_policy::parse(&name).ok()?;
            (policy.name() == name).then_some(policy)
        };
        let policies: Option<Vec<_>> = policies.iter().map(policy).collect();
        let machines = machines.iter().map(|&place| all_machines.get(place));
        let machines: Option<Vec<_>> = machines.map(Option::<&_>::cloned).collect();
        let mut part = Self::of(policies?, machines?).ok()?;
        if let Some(limits) = limits {
            part = part.limited_to(limits.as_ref().clone()).ok()?;
        }
        Some(Self {
            most_blocks: *most_blocks,
            most_kept: *most_kept,
            most_next_uses: *most_next_uses,
            keeps_reduced: *keeps_reduced,
            expected: expected.clone(),
            most_course: *most_course,
            threads: *threads,
            segments: *segments,
            around_workers: around_workers.clone(),
            curves: *curves,
            // With the knowledge whether the trace holds fetches.
            limits: limits.clone(),
            most_bytes: *most_bytes,
            tables: *tables,
            all_visits: *all_visits,
            restarts: *restarts,
            ..part
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryLimits;

    /// A plan of these policies on three machines, with memory or without.
    fn plan(policies: &[&str], limits: Option<MemoryLimits>) -> Plan {
        let policies = policies.iter().map(|name| broadleaf_policy::parse(name));
        let policies = policies.collect::<Result<_, _>>().expect("policies");
        let machines = ["skylake", "skylake-instructions", "zen2"].map(broadleaf_machine::machine);
        let machines = machines
            .into_iter()
            .map(|machine| machine.expect("a machine"));
        let machines = machines.collect();
        let plan = match limits {
            Some(limits) => Plan::within(policies, machines, limits),
            None => Plan::new(policies, machines),
        };
        plan.expect("a plan").on_threads(3).with_curves()
    }

    /// A part has the policies and machines of its places, and all else of its plan.
    #[test]
    fn a_part_is_as_its_plan_but_for_policies_and_machines() {
        for limits in [None, Some(MemoryLimits::none())] {
            let plan = plan(&["4k", "greedy", "pop-64"], limits).without_fetches();
            let part = plan.part(&[2, 0], &[2]).expect("a part");
            let of = |plan: &Plan| plan.identity().expect("an identity");
            assert_eq!(of(&part).policies, ["pop-64", "4k"]);
            assert_eq!(of(&part).machines, of(&plan).machines[2..]);
            assert_eq!(of(&part).conditions, of(&plan).conditions);
            assert!(part.curves() && part.threads() == 3);
            assert!(plan.part(&[3], &[0]).is_none() && plan.part(&[0], &[3]).is_none());
        }
    }

    /// Batches end with each change of the core, which shows in samples of all memories.
    #[test]
    fn plans_that_follow_the_core_have_no_parts() {
        let plan = |policies: &[&str]| plan(policies, Some(MemoryLimits::none()));
        assert!(
            plan(&["4k", "coloured(by=process)"])
                .part(&[0], &[0])
                .is_some()
        );
        assert!(
            plan(&["4k", "coloured(by=core)"])
                .part(&[0], &[0])
                .is_none()
        );
    }
}
