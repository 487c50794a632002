//! The cores of a machine: one of them runs at a time, and the others keep their TLBs.

use super::World;
use crate::mmu::Mmu;
use broadleaf_memory::Shootdown;
use broadleaf_metrics::CoreResult;
use broadleaf_tlb::RuleNeed;
use broadleaf_trace::CodeTable;
use broadleaf_units::{Asid, CoreId, SpaceId};
use std::sync::Arc;

/// The cores of a world's machine that do not run at the moment.
#[derive(Default)]
pub(super) struct ParkedCores<'a> {
    /// The number of the core that runs.
    running: usize,
    /// The other cores by number, as far as they have run.
    parked: Vec<Option<Box<Mmu<'a>>>>,
}

impl<'a> ParkedCores<'a> {
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut Mmu<'a>)> {
        let parked = self.parked.iter_mut().enumerate();
        parked.filter_map(|(core, mmu)| Some((core, mmu.as_deref_mut()?)))
    }
}

impl<'a> World<'a> {
    /// The cores that can run. A policy that is notified of misses, a pass that records, and a rule
    /// that knows the future have one TLB.
    pub(crate) fn cores(&self) -> usize {
        let has_one_tlb = self.charged.is_some()
            || self.recorder.is_some()
            || self.mmu.machine.design.needs(RuleNeed::Future);
        if has_one_tlb { 1 } else { self.mmu.cores() }
    }

    /// Lets a core of the machine run from now on. A number above those of the cores begins again
    /// at the first core. Machines with one core stay as they are.
    pub(crate) fn run_on_core(&mut self, core: usize) {
        let cores = self.cores();
        if cores == 1 {
            return;
        }
        let core = core % cores;
        self.system.run_on(Some(CoreId(core as u32)));
        if let Some(curves) = &mut self.curves {
            curves.run_on(core);
        }
        let running = std::mem::replace(&mut self.parked.running, core);
        if core == running {
            return;
        }
        debug_assert!(
            self.observers.is_empty(),
            "a machine of cores has its own world"
        );
        let parked = &mut self.parked.parked;
        parked.resize_with(parked.len().max(core.max(running) + 1), || None);
        let mut next = (parked[core].take()).unwrap_or_else(|| Box::new(self.mmu.another_core()));
        self.mmu.hand_over(&mut next);
        std::mem::swap(&mut self.mmu, &mut *next);
        parked[running] = Some(next);
        if let Some(cached) = &mut self.mmu.cached {
            cached.run_on(core);
        }
    }

    /// All cores follow this code from now on.
    pub(crate) fn follow_code(&mut self, code: Option<&Arc<CodeTable>>) {
        let mmus = std::iter::once(&mut self.mmu).chain(&mut self.observers);
        for cached in mmus.filter_map(|mmu| mmu.cached.as_mut()) {
            cached.follow_code(code);
        }
    }

    /// The running core follows this code from now on.
    pub(crate) fn running_core_follows(&mut self, code: Option<&Arc<CodeTable>>) {
        if let Some(cached) = &mut self.mmu.cached {
            cached.running_core_follows(code);
        }
    }

    /// The cycle in which the next instruction of the running core begins at the earliest. 0 for
    /// machines without caches.
    pub(crate) fn core_now(&self) -> u64 {
        self.mmu.cached.as_ref().map_or(0, |cached| cached.now())
    }

    /// The counts of a core. Empty for machines without caches, and for cores that never ran.
    pub(crate) fn core_result(&self, core: usize) -> CoreResult {
        let cores = self.cores_of(&self.mmu);
        let tlb = cores.get(core).copied().flatten();
        let cached = self.mmu.cached.as_ref();
        cached.map_or_else(CoreResult::default, |cached| cached.core_result(core, tlb))
    }

    /// The cores by number, of a machine that observes the world. `None` for cores that never ran.
    pub(crate) fn cores_of<'w>(&'w self, machine: &'w Mmu<'a>) -> Vec<Option<&'w Mmu<'a>>> {
        // A world whose machine ran on several cores has no other machine.
        let parked = self.parked.parked.iter().enumerate();
        let cores: Vec<_> = parked
            .map(|(core, mmu)| match mmu {
                _ if core == self.parked.running => Some(machine),
                mmu => mmu.as_deref(),
            })
            .collect();
        if cores.is_empty() {
            return vec![Some(machine)];
        }
        cores
    }

    /// Cores that do not run drop stale translations, whose space has this tag. Those that have the
    /// space loaded are interrupted for it, as under Linux.
    pub(super) fn parked_forget(&mut self, shootdown: &Shootdown, tag: Option<Asid>) {
        let of = match *shootdown {
            // A space that has ended runs nowhere.
            Shootdown::Nothing | Shootdown::Space(_) => None,
            Shootdown::Superpage { space, .. } | Shootdown::Range { space, .. } => Some(space),
        };
        let mut interrupted = Vec::new();
        for (core, mmu) in self.parked.iter_mut() {
            mmu.forget_tagged(shootdown, tag);
            if tag.is_some() && of == Some(mmu.running.0) {
                interrupted.push(core);
            }
        }
        if let Some(cached) = &mut self.mmu.cached {
            cached.shoot_down(interrupted.into_iter());
        }
    }

    /// Switches the running core to an address space. The other cores drop the translations of a
    /// tag that the space receives from another one.
    pub(super) fn switch_core(&mut self, space: SpaceId) -> Option<Asid> {
        let lost = self.mmu.switch(space)?;
        self.parked
            .iter_mut()
            .for_each(|(_, mmu)| mmu.lose_tag(lost));
        Some(lost)
    }
}
