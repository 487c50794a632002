//! References: memory first, then stale translations, then the lookups.

use super::{Scene, World};
use crate::steps::VisitStep;
use crate::stream::Stream;
use broadleaf_memory::system::Place;
use broadleaf_units::PageNumber;

impl World<'_> {
    /// Replays one visit of so many accesses; `None` where memory is used up. The number matters to
    /// rules that count uses alone.
    pub(super) fn visit(
        &mut self,
        step: &VisitStep,
        accesses: u64,
        scene: &Scene<'_>,
    ) -> Option<()> {
        if step.fetches {
            return self.fetch(step.page, step.time, scene);
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
            self.repeat(loads - 1);
            let time = step.time.saturating_add(loads);
            self.refer(step.page, time, true, scene)?;
            self.repeat(accesses.saturating_sub(loads + 1));
        } else {
            self.repeat(accesses.saturating_sub(1));
        }
        Some(())
    }

    /// Lets the TLBs note that so many more accesses of the last page followed, if a rule of theirs
    /// counts uses.
    #[inline]
    pub(super) fn repeat(&mut self, times: u64) {
        if self.counts_uses && times > 0 {
            self.mmu.tlb.repeat(times);
            for mmu in &mut self.observers {
                mmu.tlb.repeat(times);
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
        if self.charged.is_some() {
            self.translate_charging(page, level, scene.stream);
        } else {
            self.translate(page, level);
        }
        Some(())
    }

    /// Translates a page of that level on all machines: observers translate the page later.
    #[inline]
    pub(super) fn translate(&mut self, page: PageNumber, level: usize) {
        self.mmu.translate(page, level, &self.system);
        if !self.observers.is_empty() {
            self.waiting.push((page, level));
            if self.waiting.len() >= self.most_waiting {
                self.translate_waiting();
            }
        }
    }

    /// Lets the observers translate the references that wait.
    pub(super) fn translate_waiting(&mut self) {
        for mmu in &mut self.observers {
            for &(page, level) in &self.waiting {
                mmu.translate(page, level, &self.system);
            }
        }
        self.waiting.clear();
    }

    /// Replays a fetch of instructions: the page has to be in memory. The data TLB is not looked
    /// up.
    fn fetch(&mut self, page: PageNumber, time: u64, scene: &Scene<'_>) -> Option<()> {
        self.touch(page, time, false, scene)?;
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
            None => self.settle(at, time, store, scene.stream)?,
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
