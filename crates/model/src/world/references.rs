//! References: memory first, then stale translations, then the lookups.

use super::{MOST_WAITING, Scene, World};
use crate::mapped::{MappedMemory, PageLookup};
use crate::steps::VisitStep;
use crate::stream::Stream;
use broadleaf_memory::AddressSpaces;
use broadleaf_memory::system::Place;
use broadleaf_tlb::ReferenceKind;
use broadleaf_units::PageNumber;

impl World<'_> {
    /// Replays one visit of so many uses: accesses, or instructions that are fetched. `None` where
    /// memory is used up. The number matters to rules that count uses alone.
    pub(super) fn visit(&mut self, step: &VisitStep, uses: u64, scene: &Scene<'_>) -> Option<()> {
        if step.fetches {
            self.fetch(step.page, step.time, scene)?;
            self.repeat(ReferenceKind::Fetch, uses.saturating_sub(1));
            return Some(());
        }
        if step.leads {
            // Its access was the last one before.
            let time = step.time.saturating_sub(1);
            self.refer(step.page, time, step.leads_with_store, scene)?;
        }
        if !step.accesses {
            return Some(());
        }
        let loads = u64::from(step.loads_before_store);
        let stores_first = step.stores && loads == 0;
        self.refer(step.page, step.time, stores_first, scene)?;
        if step.stores && loads > 0 {
            self.repeat(ReferenceKind::Load, loads - 1);
            let time = step.time.saturating_add(loads);
            self.refer(step.page, time, true, scene)?;
            let rest = uses.saturating_sub(loads + 1);
            self.repeat(ReferenceKind::Store, rest);
        } else {
            let kind = ReferenceKind::of_data(step.stores);
            self.repeat(kind, uses.saturating_sub(1));
        }
        if self.looks_up_again(step) {
            self.look_up_again(step.page, scene);
        }
        Some(())
    }

    /// Lets the TLBs note that so many more references of that kind to the last page followed, if a
    /// rule of theirs counts uses.
    #[inline]
    pub(super) fn repeat(&mut self, kind: ReferenceKind, times: u64) {
        if self.counts_uses && times > 0 {
            self.mmu.repeat(kind, times);
            for mmu in &mut self.observers {
                mmu.repeat(kind, times);
            }
        }
    }

    /// Replays one reference: memory first, then stale translations, then the lookup. All other
    /// references of a visit hit the translation of the one before, and change nothing.
    #[inline]
    fn refer(&mut self, page: PageNumber, time: u64, store: bool, scene: &Scene<'_>) -> Option<()> {
        let level = self.touch(page, time, store, scene)?;
        if let Some(recorder) = &mut self.recorder {
            let page = self.system.base_page(page);
            let at = Place {
                space: self.mmu.running.0,
                page,
            };
            recorder.pass(self.moment);
            recorder.note_chance(&self.system, &scene.stream.spaces, at);
            recorder.refer(at);
            return Some(());
        }
        let kind = ReferenceKind::of_data(store);
        let lookup = PageLookup { page, level, kind };
        if self.charged.is_some() {
            self.translate_charging(&lookup, scene.stream);
        } else {
            self.translate(&lookup, Some(&scene.stream.spaces));
        }
        Some(())
    }

    /// Translates a page on all machines: observers translate the page later. `spaces` is `None`
    /// if the lookup hits the first level of every TLB.
    #[inline]
    pub(super) fn translate(&mut self, lookup: &PageLookup, spaces: Option<&AddressSpaces>) {
        let system = &self.system;
        self.mmu.translate(lookup, &MappedMemory { system, spaces });
        if !self.observers.is_empty() {
            self.waiting.push(*lookup);
            if self.waiting.len() >= MOST_WAITING || self.counts_uses {
                self.translate_now(spaces);
            }
        }
    }

    /// Lets the observers make the lookups that wait.
    pub(super) fn translate_waiting(&mut self, spaces: &AddressSpaces) {
        self.translate_now(Some(spaces));
    }

    /// Lets the observers make the lookups that wait, if an observer reads the page table: memory is
    /// about to change.
    fn translate_before_changes(&mut self, spaces: &AddressSpaces) {
        if self.reads_tables {
            self.translate_now(Some(spaces));
        }
    }

    /// Lets the observers make the lookups that wait. `spaces` is `None` if memory has changed
    /// already: then no lookup that waits reads a page table.
    pub(super) fn translate_now(&mut self, spaces: Option<&AddressSpaces>) {
        let system = &self.system;
        let memory = MappedMemory { system, spaces };
        for mmu in &mut self.observers {
            let mut waiting = self.waiting.as_slice();
            while let Some((lookup, later)) = waiting.split_first() {
                mmu.translate(lookup, &memory);
                waiting = &later[mmu.quiet_first(later)..];
            }
        }
        self.waiting.clear();
    }

    /// Returns true if loads of a visit need a lookup after its stores: loads and stores have TLBs
    /// of their own on a machine, and no load came first.
    pub(super) fn looks_up_again(&self, step: &VisitStep) -> bool {
        self.parts_loads && step.loads_before_store == 0 && step.loads_after_store
    }

    /// Looks a page up for loads of a visit whose store has touched the page.
    pub(super) fn look_up_again(&mut self, page: PageNumber, scene: &Scene<'_>) {
        let kind = ReferenceKind::Load;
        let level = self.system.level_at(Place {
            space: self.mmu.running.0,
            page: self.system.base_page(page),
        });
        let lookup = PageLookup { page, level, kind };
        if self.charged.is_some() {
            self.translate_charging(&lookup, scene.stream);
        } else {
            self.translate(&lookup, Some(&scene.stream.spaces));
        }
    }

    /// Replays a fetch of instructions: the page has to be in memory. Machines with instruction
    /// TLBs look the page up.
    fn fetch(&mut self, page: PageNumber, time: u64, scene: &Scene<'_>) -> Option<()> {
        let level = self.touch(page, time, false, scene)?;
        if self.recorder.is_none() {
            let kind = ReferenceKind::Fetch;
            let lookup = PageLookup { page, level, kind };
            self.translate(&lookup, Some(&scene.stream.spaces));
        }
        if let Some(recorder) = &mut self.recorder {
            let (space, page) = (self.mmu.running.0, self.system.base_page(page));
            recorder.fetch(Place { space, page });
        }
        Some(())
    }

    /// Applies a reference to memory, and drops translations that became stale. Returns the level
    /// of the page that maps the reference; `None` if memory is used up.
    #[inline]
    fn touch(
        &mut self,
        page: PageNumber,
        time: u64,
        store: bool,
        scene: &Scene<'_>,
    ) -> Option<usize> {
        self.moment += 1;
        let is_due = self.system.next_time() <= time;
        if is_due {
            self.translate_before_changes(&scene.stream.spaces);
            self.system.set_moment(self.moment);
            self.system.pass(&scene.stream.spaces, time);
        }
        let at = Place {
            space: self.mmu.running.0,
            page: self.system.base_page(page),
        };
        let settled = self.system.look(at, store);
        let level = match settled {
            Some(level) => level,
            None => {
                self.translate_before_changes(&scene.stream.spaces);
                self.settle(at, time, store, scene.stream)?
            }
        };
        if is_due || settled.is_none() {
            self.drop_stale(scene.part);
        }
        Some(level)
    }

    /// Lets memory act on a reference that is not settled: a page fault, the first store to a page,
    /// or the first reference since a daemon marked the page. Returns the level of the page that
    /// maps the reference then; `None` if memory is used up.
    pub(super) fn settle(
        &mut self,
        at: Place,
        time: u64,
        store: bool,
        stream: &Stream,
    ) -> Option<usize> {
        self.system.set_time(time);
        self.system.set_moment(self.moment);
        if let Some(recorder) = &mut self.recorder {
            recorder.pass(self.moment);
            recorder.fault(&self.system, &stream.spaces, at);
        }
        let level = self.system.reference(&stream.spaces, at, store);
        if level.is_ok() {
            self.look_around(time);
        } else {
            self.ended = Some(time);
            let totals = self.system.totals(&stream.spaces);
            self.totals_when_ended = Some(Box::new(totals));
        }
        level.ok()
    }
}
