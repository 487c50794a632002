//! The schedules of policies with foresight: which pieces are worth being superpages, and when.

use super::cast::Cast;
use super::cell::{Cell, entries};
use super::mmu::Mmu;
use super::passes::Passes;
use crate::offline::{self, Choice, Decision, Recorder, Setting};
use crate::{Error, Source};
use broadleaf_machine::Machine;
use broadleaf_memory::system::{Schedule, Spec};
use broadleaf_policy::{Cycles, Foresight, Policy, Search};
use std::collections::BTreeMap;

/// What was chosen for each policy that chooses, on each machine, by their names.
#[derive(Debug, Default)]
pub(super) struct Choices(BTreeMap<(String, String), (Decision, Vec<Schedule>)>);

impl Choices {
    /// The best choice by what is known, then others that may be better on the machine itself.
    pub(super) fn of(&self, policy: &dyn Policy, machine: &Machine) -> &[Schedule] {
        let key = (policy.name(), machine.name.clone());
        let chosen = self.0.get(&key);
        chosen.map_or(&[], |(_, schedules)| schedules)
    }

    /// The choice of that number, for others.
    pub(super) fn told(
        &self,
        policy: &dyn Policy,
        machine: &Machine,
        number: usize,
    ) -> Option<Choice> {
        let key = (policy.name(), machine.name.clone());
        let (decision, _) = self.0.get(&key)?;
        Some(decision.told(number, key.0, key.1))
    }
}

fn search(policy: &dyn Policy) -> Option<Search> {
    match policy.needs().foresight {
        Foresight::Cheapest(search) => Some(search),
        Foresight::None | Foresight::Of(_) => None,
    }
}

/// What there is to choose for, of a policy on a machine.
fn setting(search: Search, machine: &Machine, spec: &Spec, tells_ranges: bool) -> Setting {
    let cycles = (0..spec.sizes.levels()).map(|level| {
        let shift = spec.base.shift() + spec.sizes.order(level);
        let size = broadleaf_units::PageSize::from_shift(shift);
        size.and_then(|size| machine.costs.of(size)).unwrap_or(0)
    });
    Setting {
        search,
        base: spec.base,
        sizes: spec.sizes,
        entries: entries(machine, spec.base),
        walk_cycles: cycles.collect(),
        costs: spec.costs,
        tells_ranges,
    }
}

/// Chooses for all policies of a plan that need it, in one pass more over the traces.
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
    let cast = || {
        let cells = pairs.iter().map(|(policy, machine, _)| {
            let spec = limits.spec_on(machine, *policy, plan.layouts())?;
            let largest = spec.sizes.order(spec.sizes.levels() - 1);
            let recorder = Recorder::new(entries(machine, spec.base), largest, plan.most_course());
            Ok(Cell::new(*policy, machine, &spec, None).recording(recorder))
        });
        Ok(Cast::of(cells.collect::<Result<_, String>>()?))
    };
    let cast = passes.replay(cast)?.cast;
    let mut choices = Choices::default();
    for ((policy, machine, search), cell) in pairs.iter().zip(cast.cells) {
        let spec = (limits.spec_on(machine, *policy, plan.layouts())).map_err(Error::Memory)?;
        let Some(recorder) = cell.into_recorder() else {
            continue;
        };
        let kept = recorder
            .finish()
            .map_err(|error| Error::Memory(error.to_string()))?;
        let setting = setting(*search, machine, &spec, plan.tells_ranges());
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

/// Those of a policy's cycles that another has few of; what ran out of memory has most.
pub(super) fn cycles((cell, mmu): (&Cell<'_>, &Mmu<'_>), which: Cycles) -> u64 {
    if cell.ended.is_some() {
        return u64::MAX;
    }
    let counters = cell.system.counters();
    let bookkeeping = cell.charged.as_ref().map_or(0, |charged| charged.cycles);
    let others = match which {
        Cycles::All => counters.fault_cycles + counters.daemon_cycles,
        Cycles::Tlb => counters.promotion_cycles,
    };
    mmu.walk_cycles() + bookkeeping + others
}

/// Which cycles a policy has few of, if it knows what they will be.
pub(super) fn few_of(policy: &dyn Policy) -> Option<Cycles> {
    search(policy).map(|search| search.cycles)
}
