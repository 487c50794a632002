//! The schedules of policies with foresight: which pieces are worth being superpages, and when.

use super::mmu::Mmu;
use super::passes::Passes;
use super::world::World;
use super::worlds::Worlds;
use crate::offline::{self, Choice, Decision, OfflineSetting, Recorder};
use crate::{Error, Source};
use broadleaf_machine::Machine;
use broadleaf_memory::system::{Schedule, Spec};
use broadleaf_policy::{Cycles, Foresight, OfflineSearch, Policy};
use std::collections::BTreeMap;

/// The choices of each policy with foresight on each machine, by the names of both.
#[derive(Debug, Default)]
pub(super) struct Choices(BTreeMap<(String, String), (Decision, Vec<Schedule>)>);

impl Choices {
    /// The best choice by its expected cost, then choices that may be better on the machine itself.
    pub(super) fn of(&self, policy: &dyn Policy, machine: &Machine) -> &[Schedule] {
        let key = (policy.name(), machine.name.clone());
        let chosen = self.0.get(&key);
        chosen.map_or(&[], |(_, schedules)| schedules)
    }

    /// The public form of a choice, by the choice's index.
    pub(super) fn choice(
        &self,
        policy: &dyn Policy,
        machine: &Machine,
        number: usize,
    ) -> Option<Choice> {
        let key = (policy.name(), machine.name.clone());
        let (decision, _) = self.0.get(&key)?;
        Some(decision.to_choice(number, key.0, key.1))
    }
}

fn search(policy: &dyn Policy) -> Option<OfflineSearch> {
    match policy.needs().foresight {
        Foresight::Cheapest(search) => Some(search),
        Foresight::None | Foresight::Of(_) => None,
    }
}

/// The parameters of OFFLINE's choice for a policy on a machine.
fn setting(
    search: OfflineSearch,
    machine: &Machine,
    spec: &Spec,
    by_range: bool,
) -> OfflineSetting {
    let cycles = (0..spec.sizes.levels()).map(|level| {
        let shift = spec.base.shift() + spec.sizes.order(level);
        let size = broadleaf_units::PageSize::from_shift(shift);
        size.and_then(|size| machine.costs.of(size)).unwrap_or(0)
    });
    OfflineSetting {
        search,
        base: spec.base,
        sizes: spec.sizes,
        entries: machine.design.capacity(spec.base),
        walk_cycles: cycles.collect(),
        costs: spec.costs,
        by_range,
    }
}

/// Chooses superpages for all policies of a plan that need a choice, in one more pass over the
/// traces.
pub(super) fn choose<S: Source>(
    passes: &mut Passes<'_, '_, S>,
) -> Result<Choices, Error<S::Error>> {
    let (plan, limits) = (passes.plan, passes.limits);
    let pairs: Vec<_> = (plan.pairs())
        .filter_map(|(policy, machine)| Some((policy, machine, search(policy)?)))
        .collect();
    if pairs.is_empty() {
        return Ok(Choices::default());
    }
    passes.state.passes = passes.state.passes.max(passes.state.pass + 2);
    let worlds = || {
        let worlds = pairs.iter().map(|(policy, machine, _)| {
            let spec = limits.spec_on(machine, *policy, plan)?;
            let largest = spec.sizes.order(spec.sizes.levels() - 1);
            let recorder = Recorder::new(
                machine.design.capacity(spec.base),
                largest,
                plan.most_course(),
            );
            Ok(World::new(*policy, machine, &spec, None).recording(recorder))
        });
        Ok(Worlds::of(worlds.collect::<Result<_, String>>()?))
    };
    let worlds = passes.replay(worlds)?.worlds;
    let mut choices = Choices::default();
    for ((policy, machine, search), world) in pairs.iter().zip(worlds.all) {
        let spec = (limits.spec_on(machine, *policy, plan)).map_err(Error::Memory)?;
        let Some(recorder) = world.into_recorder() else {
            continue;
        };
        let kept = recorder
            .finish()
            .map_err(|error| Error::Memory(error.to_string()))?;
        let setting = setting(*search, machine, &spec, plan.has_ranges());
        let mut progress = |trial| {
            passes.state.trial = Some(trial);
            (passes.progress)(*passes.state)
        };
        let chosen = offline::choose(kept, setting, &mut progress);
        let chosen = chosen.continue_value().ok_or(Error::Stopped)?;
        let key = (policy.name(), machine.name.clone());
        let schedules = (0..chosen.choices.len()).filter_map(|number| chosen.schedule(number));
        let schedules = schedules.collect();
        choices.0.insert(key, (chosen, schedules));
        passes.state.trial = None;
    }
    Ok(choices)
}

/// The cycles of a policy that another policy minimizes. A world that ran out of memory counts as
/// the maximum.
pub(super) fn cycles((world, mmu): (&World<'_>, &Mmu<'_>), which: Cycles) -> u64 {
    if world.ended.is_some() {
        return u64::MAX;
    }
    let counters = world.system.counters();
    let bookkeeping = world.charged.as_ref().map_or(0, |charged| charged.cycles);
    let others = match which {
        Cycles::All => counters.fault_cycles + counters.daemon_cycles,
        Cycles::Tlb => counters.promotion_cycles,
    };
    mmu.walk_cycles() + bookkeeping + others
}

/// The cycles that a policy with foresight minimizes.
pub(super) fn few_of(policy: &dyn Policy) -> Option<Cycles> {
    search(policy).map(|search| search.cycles)
}
