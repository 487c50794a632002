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
    /// Replays one visit. `uses` is the number of its accesses or fetched instructions; only rules
    /// that count uses read it. Returns `None` if memory is used up.
    pub(super) fn visit(&mut self, step: &VisitStep, uses: u64, scene: &Scene<'_>) -> Option<()> {
        self.continues = step.continues;
        if scene.part.kernel.is_some() {
            self.enter_space_of(step.page, scene);
        }
        if step.fetches {
            self.fetch(step.page, step.time, scene)?;
            self.repeat(ReferenceKind::Fetch, uses.saturating_sub(1));
            return Some(());
        }
        if step.leads {
            // Its access was the last one before, and began on the page before.
            let time = step.time.saturating_sub(1);
            self.catch_up_curves(step.time, self.moment + 1, &scene.stream.spaces);
            self.refer(step.page, time, step.leads_with_store, scene)?;
        }
        if !step.accesses {
            return Some(());
        }
        let loads = u64::from(step.loads_before_store);
        let stores_first = step.stores && loads == 0;
        self.refer(step.page, step.time, stores_first, scene)?;
        if !step.stores {
            self.repeat(ReferenceKind::Load, uses.saturating_sub(1));
            return Some(());
        }
        if loads > 0 {
            self.repeat(ReferenceKind::Load, loads - 1);
            let time = step.time.saturating_add(loads);
            self.refer(step.page, time, true, scene)?;
        }
        self.repeat(ReferenceKind::Store, step.more_stores.into());
        self.load_after_stores(step.page, step.loads_after_stores.into(), scene);
        Some(())
    }

    /// Lets the TLBs note that `times` more references of that kind to the last page followed, if a
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

    /// Replays loads of a visit after its stores. They change no memory. Machines with TLBs of
    /// their own for loads look the page up.
    #[inline]
    pub(super) fn load_after_stores(&mut self, page: PageNumber, loads: u64, scene: &Scene<'_>) {
        if loads == 0 || self.recorder.is_some() {
            return;
        }
        if self.parts_loads {
            let lookup = PageLookup {
                page,
                level: self.system.level_at(Place {
                    space: self.mmu.running.0,
                    page: self.system.base_page(page),
                }),
                kind: ReferenceKind::Load,
                after_stores: true,
                continues: true,
            };
            self.look_up(&lookup, scene.stream);
        }
        if self.counts_uses {
            let mmus = std::iter::once(&mut self.mmu).chain(&mut self.observers);
            // The first load is a lookup on some machines, and a further use on the others.
            mmus.for_each(|mmu| {
                mmu.repeat(ReferenceKind::Load, loads - u64::from(mmu.parts_loads))
            });
        }
    }

    /// Replays one reference: memory first, then stale translations, then the lookup. A visit calls
    /// it once for each kind of its references. The others hit the same entry again: only rules
    /// that count uses notice them ([`Self::repeat`]).
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
        let mut lookup = PageLookup::new(page, level, ReferenceKind::of_data(store));
        // The other references of a visit that is read by instruction are of this instruction.
        lookup.continues = std::mem::replace(&mut self.continues, true);
        if let Some(curves) = &mut self.curves {
            curves.look_up(self.mmu.running.0, page, level);
        }
        self.look_up(&lookup, scene.stream);
        Some(())
    }

    /// Looks a page up on all machines, and charges misses if the policy is notified of them.
    #[inline]
    fn look_up(&mut self, lookup: &PageLookup, stream: &Stream) {
        if self.charged.is_some() {
            self.translate_charging(lookup, stream);
        } else {
            self.translate(lookup, Some(&stream.spaces));
        }
    }

    /// Translates a page on all machines: observers translate the page later. `spaces` is `None`
    /// if the lookup hits the first level of every TLB.
    #[inline]
    pub(super) fn translate(&mut self, lookup: &PageLookup, spaces: Option<&AddressSpaces>) {
        if !self.first_waits {
            let memory = MappedMemory::new(&self.system, spaces);
            self.mmu.translate(lookup, &memory);
        }
        if !self.observers.is_empty() {
            self.waiting.push(*lookup);
            if self.waiting.len() >= MOST_WAITING || self.counts_uses {
                self.translate_now(spaces);
            }
        }
    }

    /// Lets the observers make the lookups that wait, if an observer reads the page table: memory
    /// is about to change.
    pub(super) fn translate_before_changes(&mut self, spaces: &AddressSpaces) {
        if self.reads_tables {
            self.translate_now(Some(spaces));
        }
    }

    /// Replays a fetch of instructions: the page has to be in memory. Machines with instruction
    /// TLBs look the page up.
    fn fetch(&mut self, page: PageNumber, time: u64, scene: &Scene<'_>) -> Option<()> {
        let level = self.touch(page, time, false, scene)?;
        if self.recorder.is_none() {
            let lookup = PageLookup::new(page, level, ReferenceKind::Fetch);
            self.look_up(&lookup, scene.stream);
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
            self.catch_up_curves(time, self.moment, &scene.stream.spaces);
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
            self.take_up_changes(scene.part, &scene.stream.spaces);
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
