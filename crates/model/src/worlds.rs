//! The worlds of a replay.

use super::choices::{Choices, cycles, few_of};
use super::filter_groups::{FilterGroups, SharedFilters};
use super::follow::{self, Follower};
use super::limits::MemoryLimits;
use super::mmu::Mmu;
use super::world::World;
use crate::Plan;
use crate::foresight::ForeseenPromotions;
use crate::future::{LookupFuture, LookupRoom, NextUses};
use crate::listener::StepListener;
use crate::stream::Stream;
use broadleaf_machine::Machine;
use broadleaf_memory::system::Foreseen;
use broadleaf_policy::{Cycles, Foresight};
use broadleaf_tlb::RuleNeed;

/// The worlds of a replay.
pub(super) struct Worlds<'a> {
    /// All of them.
    pub(super) all: Vec<World<'a>>,
    /// The runs of the plan, policy by policy in the order of the request, and each policy on all
    /// machines. Runs that the request does not name follow.
    runs: Vec<MachineRun>,
    /// The last runs replace runs of the plan with another choice: the numbers of the replaced
    /// runs.
    stand_ins: Vec<usize>,
    /// The groups of machines that have a filter each.
    groups: FilterGroups<'a>,
}

/// A policy on a machine: the number of the world, and of the machine that observes the world.
#[derive(Clone, Copy, Debug)]
struct MachineRun {
    world: usize,
    machine: usize,
}

/// Worlds and runs under construction.
#[derive(Default)]
struct MachineRuns<'a> {
    worlds: Vec<World<'a>>,
    runs: Vec<MachineRun>,
}

impl<'a> MachineRuns<'a> {
    /// Adds a world for one machine.
    fn push(&mut self, world: World<'a>) {
        let number = self.worlds.len();
        self.worlds.push(world);
        self.runs.push(MachineRun {
            world: number,
            machine: 0,
        });
    }

    /// Lets a machine observe one of the worlds from `first` on. Returns false if none of them has
    /// memory as the machine needs it, and the filter of its group.
    fn observe(
        &mut self,
        first: usize,
        machine: &'a Machine,
        plan: &Plan,
        groups: &FilterGroups<'_>,
    ) -> bool {
        let mut worlds = self.worlds.iter_mut().enumerate().skip(first);
        let group = groups.of(&machine.design);
        let run = worlds.find_map(|(world, found)| {
            if groups.of(&found.mmu(0).machine.design) != group {
                return None;
            }
            let machine = found.observe(machine, plan.has_one_memory())?;
            Some(MachineRun { world, machine })
        });
        self.runs.extend(run);
        run.is_some()
    }

    /// Adds the parts of the plan: page tables to all worlds, curves and listeners to runs. `heard`
    /// has the numbers of the runs with listeners.
    fn equipped(mut self, plan: &Plan, heard: impl Iterator<Item = usize>) -> Self {
        let (worlds, all) = (self.worlds.into_iter(), plan.walks_all_tables());
        self.worlds = worlds.map(|world| world.walking_tables(all)).collect();
        let heard: Vec<usize> = heard.collect();
        if plan.curves() {
            for MachineRun { world, machine } in heard.iter().map(|number| self.runs[*number]) {
                self.worlds[world].add_curve(machine);
            }
        }
        if plan.restarts_instructions() {
            let mmus = self.worlds.iter_mut().flat_map(World::mmus_mut);
            mmus.for_each(Mmu::begin_instructions_again);
        }
        if let Some(request) = plan.listening() {
            for MachineRun { world, machine } in heard.iter().map(|number| self.runs[*number]) {
                self.worlds[world].listen(machine, request);
            }
        }
        // Listeners hear of each lookup, and instructions that begin again make more of them.
        if !plan.restarts_instructions() && plan.listening().is_none() {
            self.worlds.iter_mut().for_each(World::pair_twins);
            if !plan.replays_all_visits() {
                self.worlds.iter_mut().for_each(World::leave_lookups_out);
            }
        }
        self
    }
}

impl<'a> Worlds<'a> {
    /// The worlds of a plan, and of the policy to which faults are compared.
    ///
    /// # Errors
    /// If memory cannot be set up within the limits.
    pub(super) fn new(
        plan: &'a Plan,
        limits: &MemoryLimits,
        foresight: &'a ForeseenPromotions,
        choices: &'a Choices,
        groups: FilterGroups<'a>,
    ) -> Result<Self, String> {
        let (mut runs, mut stand_ins) = (MachineRuns::default(), Vec::new());
        let mut others = Vec::new();
        // The policy of the last worlds, and the first of them.
        let mut of_policy: Option<(String, usize)> = None;
        for (policy, machine) in plan.pairs() {
            let name = policy.name();
            if of_policy.as_ref().is_none_or(|(known, _)| *known != name) {
                of_policy = Some((name, runs.worlds.len()));
            }
            let first = of_policy.as_ref().map_or(0, |(_, first)| *first);
            let known = policy.needs().foresight;
            // The choices of such a policy depend on the machine.
            let chooses = matches!(known, Foresight::Cheapest(_));
            if !chooses && runs.observe(first, machine, plan, &groups) {
                continue;
            }
            let spec = limits.spec_on(machine, policy, plan)?;
            let foreseen = match known {
                Foresight::None => None,
                Foresight::Of(name) => foresight.get(name).map(Foreseen::Blocks),
                Foresight::Cheapest(_) => {
                    let choices = choices.of(policy, machine);
                    for other in choices.iter().skip(1) {
                        let foreseen = Some(Foreseen::Schedule(other));
                        others.push(World::new(policy, machine, &spec, foreseen));
                        stand_ins.push(runs.runs.len());
                    }
                    choices.first().map(Foreseen::Schedule)
                }
            };
            runs.push(World::new(policy, machine, &spec, foreseen));
        }
        let baseline = plan.baseline();
        if (plan.policies().iter()).all(|policy| policy.name() != baseline.name()) {
            add_baseline(&mut runs, plan, limits, &groups)?;
        }
        let first_other = runs.runs.len();
        others.into_iter().for_each(|world| runs.push(world));
        // No result is that of an added baseline, which comes between.
        let heard = (0..plan.pairs().count()).chain(first_other..runs.runs.len());
        let MachineRuns { mut worlds, runs } = runs.equipped(plan, heard);
        if plan
            .policies()
            .iter()
            .any(|policy| few_of(policy.as_ref()).is_some())
        {
            worlds = worlds.into_iter().map(World::logging).collect();
        }
        Ok(Self {
            all: worlds,
            runs,
            stand_ins,
            groups,
        })
    }

    /// The worlds of the followers, and of the policy to which faults are compared.
    ///
    /// # Errors
    /// If memory cannot be set up within the limits.
    pub(super) fn following(
        followers: &'a [Follower<'a>],
        plan: &'a Plan,
        limits: &MemoryLimits,
        groups: FilterGroups<'a>,
    ) -> Result<Self, String> {
        let mut runs = MachineRuns::default();
        for world in follow::worlds(followers, plan, limits)? {
            runs.push(world);
        }
        add_baseline(&mut runs, plan, limits, &groups)?;
        let MachineRuns { worlds, runs } = runs.equipped(plan, 0..followers.len());
        Ok(Self {
            all: worlds,
            runs,
            stand_ins: Vec::new(),
            groups,
        })
    }

    /// The machines whose replacement rules know the future, world by world.
    fn foreseeing(&mut self) -> impl Iterator<Item = &mut Mmu<'a>> {
        let mmus = self.all.iter_mut().flat_map(World::mmus_mut);
        mmus.filter(|mmu| mmu.machine.design.needs(RuleNeed::Future))
    }

    /// The worlds, for a pass that records the lookups of machines that know the future. No
    /// listener and no curve follows the pass.
    pub(super) fn recording_lookups(mut self, room: &LookupRoom) -> Self {
        for mmu in self.all.iter_mut().flat_map(World::mmus_mut) {
            mmu.listener = None;
        }
        let worlds = self.all.into_iter();
        self.all = worlds.map(World::without_curves).collect();
        self.foreseeing()
            .for_each(|mmu| mmu.future = Some(LookupFuture::recording(room.clone())));
        self
    }

    /// The recorded lookups.
    pub(super) fn into_futures(mut self) -> impl Iterator<Item = LookupFuture> {
        let futures = self.foreseeing().filter_map(|mmu| mmu.future.take());
        futures.collect::<Vec<_>>().into_iter()
    }

    /// The worlds with the future of their lookups.
    pub(super) fn knowing(mut self, uses: &[NextUses]) -> Self {
        for (mmu, uses) in self.foreseeing().zip(uses) {
            mmu.future = Some(LookupFuture::known(uses.clone()));
        }
        self
    }

    /// Worlds with one machine each, and no runs that replace others.
    pub(super) fn of(worlds: Vec<World<'a>>) -> Self {
        let runs = (0..worlds.len()).map(|world| MachineRun { world, machine: 0 });
        Self {
            runs: runs.collect(),
            all: worlds,
            stand_ins: Vec::new(),
            groups: FilterGroups::default(),
        }
    }

    /// The number of runs.
    pub(super) const fn runs(&self) -> usize {
        self.runs.len()
    }

    /// The world of a run, and the machine that observes the world.
    pub(super) fn run(&self, number: usize) -> (&World<'a>, &Mmu<'a>) {
        let run = self.runs[number];
        let world = &self.all[run.world];
        (world, world.mmu(run.machine))
    }

    /// Takes away the listener to a run. `stream` is at the end of the trace.
    pub(super) fn take_listener(
        &mut self,
        number: usize,
        stream: &Stream,
    ) -> Option<Box<dyn StepListener>> {
        let MachineRun { world, machine } = self.runs[number];
        self.all[world].take_listener(machine, stream.now(), &stream.spaces)
    }

    /// Lets each world use the filter of its group if the filter covers the world. Returns the
    /// filters: none if no world uses one.
    pub(super) fn filter(&mut self) -> SharedFilters {
        let filters = self.groups.filters();
        let mut any = false;
        for world in &mut self.all {
            let group = self.groups.of(&world.mmu(0).machine.design);
            if let Some((number, filter)) = group.and_then(|at| Some((at, filters.get(at)?))) {
                any |= world.filter_with(number, filter).is_ok();
            }
        }
        match any {
            true => filters,
            false => SharedFilters::default(),
        }
    }

    /// Runs the daemons of all worlds that fell due before the last access.
    pub(super) fn run_daemons(&mut self, stream: &Stream) {
        self.all
            .iter_mut()
            .for_each(|world| world.run_daemons(stream));
    }

    /// The number of the run that did best, for each pair of the plan.
    pub(super) fn best(&self, plan: &Plan) -> Vec<usize> {
        let first = self.runs.len() - self.stand_ins.len();
        let mut best: Vec<usize> = (0..plan.pairs().count()).collect();
        for (number, asked) in (first..).zip(&self.stand_ins) {
            let which = few_of(self.run(number).0.policy).unwrap_or(Cycles::All);
            let [other, so_far] = [number, best[*asked]].map(|at| cycles(self.run(at), which));
            if other < so_far {
                best[*asked] = number;
            }
        }
        best
    }

    /// The number of the choice that a run makes for a pair. A requested run has number 0.
    pub(super) fn stands_in(&self, pair: usize, run: usize) -> usize {
        let first = self.runs.len() - self.stand_ins.len();
        let before = run
            .checked_sub(first)
            .map(|others| &self.stand_ins[..others]);
        before.map_or(0, |before| {
            1 + before.iter().filter(|asked| **asked == pair).count()
        })
    }
}

/// Adds the policy to which faults are compared, on each machine.
fn add_baseline<'a>(
    runs: &mut MachineRuns<'a>,
    plan: &'a Plan,
    limits: &MemoryLimits,
    groups: &FilterGroups<'_>,
) -> Result<(), String> {
    let first = runs.worlds.len();
    for machine in plan.machines() {
        if !runs.observe(first, machine, plan, groups) {
            let spec = limits.spec_on(machine, plan.baseline(), plan)?;
            runs.push(World::new(plan.baseline(), machine, &spec, None));
        }
    }
    Ok(())
}
