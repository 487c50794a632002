//! Filtered visits: how a world uses the shared filter, leaves it, and filters alone.

use super::{Scene, World};
use crate::filter::{
    self, BatchPart, FilterRerun, Filtered, LeavingPoint, SharedFilter, Unfiltered, WorldNeeds,
    last_reference,
};
use crate::mapped::PageLookup;
use crate::steps::VisitStep;
use crate::stream::Stream;
use broadleaf_filter::Sieve;
use broadleaf_filter::Sifted;
use broadleaf_tlb::ReferenceKind;
use broadleaf_trace::reduced::Sums;
use broadleaf_units::PageNumber;

/// The filter of a world.
pub(super) struct WorldFilter {
    /// The number of the shared filter.
    group: usize,
    stage: FilterStage,
    /// The world's own filter, for visits after the world left the shared filter.
    own: Sieve,
    kept: Sifted,
    rerun: FilterRerun,
    /// [`System::unsettled`](broadleaf_memory::system::System::unsettled) when last read.
    unsettled: u64,
    /// True if memory unsettled a page or dropped a translation in the current part.
    was_disturbed: bool,
    /// The first visit after the world left the shared filter, and the sums of the visits before.
    resume: (usize, Sums),
}

/// The filter that a world uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FilterStage {
    /// None, between two parts. No lookup is left to be made up for.
    Between,
    /// The shared filter. The world replays the kept visit of this number.
    Shared(usize),
    /// The world's own.
    Own,
}

impl World<'_> {
    /// The number of the shared filter that the world uses; `None` if the world uses none.
    pub(crate) fn filter_group(&self) -> Option<usize> {
        self.filter.as_ref().map(|filter| filter.group)
    }

    /// Uses the shared filter of that number from now on.
    ///
    /// # Errors
    /// The reason why the filter would change a figure of this world.
    pub(crate) fn filter_with(
        &mut self,
        group: usize,
        shared: &SharedFilter,
    ) -> Result<(), Unfiltered> {
        filter::covers(WorldNeeds {
            records: self.recorder.is_some(),
            numbers: self.system.reads_moments(),
            charges: self.charged.is_some(),
        })?;
        self.filter = Some(Box::new(WorldFilter {
            group,
            stage: FilterStage::Between,
            own: shared.fresh(),
            kept: Sifted::default(),
            rerun: FilterRerun::new(shared.fresh()),
            unsettled: 0,
            was_disturbed: false,
            resume: (0, Sums::default()),
        }));
        Ok(())
    }

    /// Replays a part of a batch with filters.
    pub(super) fn replay_filtered(&mut self, part: &BatchPart<'_>, stream: &Stream) {
        let (Some(filter), Some(filtered)) = (&mut self.filter, part.filtered) else {
            return;
        };
        filter.unsettled = self.system.unsettled();
        self.pass_events();
        let Some(filter) = &mut self.filter else {
            return;
        };
        // Memory that was disturbed once is likely to be disturbed again soon. Leaving the shared
        // filter takes longer than not using it.
        let begins_alone = std::mem::take(&mut filter.was_disturbed);
        filter.resume = (0, Sums::default());
        let scene = Scene { stream, part };
        if begins_alone || self.replay_kept(filtered, &scene) {
            self.replay_alone(&scene);
        }
        self.set_stage(FilterStage::Between);
    }

    fn set_stage(&mut self, stage: FilterStage) {
        if let Some(filter) = &mut self.filter {
            filter.stage = stage;
        }
    }

    /// Replays the visits that the shared filter kept. Returns true if the world left the filter.
    fn replay_kept(&mut self, filtered: &Filtered, scene: &Scene<'_>) -> bool {
        for (number, kept) in filtered.kept().iter().enumerate() {
            let step = VisitStep::kept(kept, scene.part.begin);
            if self.system.next_time() <= step.first_time() {
                self.leave_for_daemon(scene.part);
                return true;
            }
            if kept.manner.renews() {
                self.repeat_lookup(step.page);
                continue;
            }
            self.set_stage(FilterStage::Shared(number));
            // A filter serves exact LRU alone: no rule counts the uses.
            if self.visit_kept(&step, 1, scene).is_none() {
                self.leave(LeavingPoint::AfterKept(number), scene.part);
                let sums = self.filter.as_ref().map(|filter| filter.resume.1);
                let instructions = sums.map_or(0, |sums| sums.instructions);
                self.instructions = scene.part.instructions.saturating_add(instructions);
                return true;
            }
            let is_own = |filter: &WorldFilter| filter.stage == FilterStage::Own;
            if self.filter.as_deref().is_some_and(is_own) {
                return true;
            }
        }
        let due = self.system.next_time();
        let runs = scene.part.reaches(due, filtered.sums());
        if runs {
            self.leave_for_daemon(scene.part);
        }
        runs
    }

    /// Leaves the shared filter before the reference at which a daemon runs. The filter may have
    /// left this reference out.
    fn leave_for_daemon(&mut self, part: &BatchPart<'_>) {
        let time = self.system.next_time().saturating_sub(part.begin);
        self.leave(LeavingPoint::AtTime(time), part);
    }

    /// Leaves the shared filter, and makes the lookups that it still left out.
    fn leave(&mut self, point: LeavingPoint, part: &BatchPart<'_>) {
        let (Some(mut filter), Some(filtered)) = (self.filter.take(), part.filtered) else {
            return;
        };
        if filter.stage != FilterStage::Own {
            let (at, sums, lookups) = filter.rerun.up_to(point, part, filtered);
            filter.resume = (at, sums);
            for lookup in lookups {
                self.repeat_lookup(PageNumber(lookup.page));
            }
            filter.stage = FilterStage::Own;
        }
        self.filter = Some(filter);
    }

    /// Replays the visits from the one on at which the world left the shared filter.
    fn replay_alone(&mut self, scene: &Scene<'_>) {
        let part = scene.part;
        self.set_stage(FilterStage::Own);
        let Some(filter) = &self.filter else { return };
        let (from, sums) = filter.resume;
        let mut time = part.begin.saturating_add(sums.accesses());
        let mut instructions = part.instructions.saturating_add(sums.instructions);
        if self.ended.is_some() {
            return;
        }
        for at in from..part.visits.len() {
            let visit = part.visits.visit(at);
            instructions = instructions.saturating_add(visit.instructions.into());
            if visit.fetch {
                continue;
            }
            let begin = time;
            time = time.saturating_add(visit.accesses());
            let Some(last) = last_reference(&visit, begin) else {
                continue;
            };
            let Some(filter) = &mut self.filter else {
                return;
            };
            if self.system.next_time() <= last {
                self.catch_up();
            } else {
                let mut sums = Sums::default();
                (filter.own).sift(&[visit], part.shift, &mut filter.kept, &mut sums);
                let kept = filter.kept.kept.len();
                if kept == 0 {
                    continue;
                }
                // The visit itself is the last.
                self.repeat_lookups(kept - 1);
            }
            self.instructions = instructions;
            let step = VisitStep::of(&visit, part.shift, begin);
            if self
                .visit_kept(&step, VisitStep::uses(&visit), scene)
                .is_none()
            {
                return;
            }
        }
        self.catch_up();
    }

    /// Makes the lookups that the world's own filter left out, and lets the filter forget.
    fn catch_up(&mut self) {
        let Some(filter) = &mut self.filter else {
            return;
        };
        filter.own.catch_up(&mut filter.kept, &Sums::default());
        filter.own.forget();
        let lookups = filter.kept.kept.len();
        self.repeat_lookups(lookups);
    }

    /// Makes the first lookups of those that the world's own filter handed out, and drops the
    /// others.
    fn repeat_lookups(&mut self, count: usize) {
        for at in 0..count {
            let lookup = self.filter.as_ref().and_then(|it| it.kept.kept.get(at));
            if let Some(page) = lookup.map(|lookup| lookup.page) {
                self.repeat_lookup(PageNumber(page));
            }
        }
        if let Some(filter) = &mut self.filter {
            filter.kept.clear();
        }
    }

    /// Makes a lookup that hits the first level of every TLB: the filter left out only such
    /// lookups. The level counts only at a miss, so any level will do.
    fn repeat_lookup(&mut self, page: PageNumber) {
        let kind = ReferenceKind::Load;
        let level = 0;
        self.translate(&PageLookup::new(page, level, kind), None);
    }

    /// Makes the lookups that the filter left out so far, if memory unsettled a page or
    /// translations are stale: from here on the filter's facts do not hold.
    pub(super) fn end_left_out(&mut self, is_stale: bool, part: &BatchPart<'_>) {
        let unsettled = self.system.unsettled();
        if let Some(filter) = &mut self.filter
            && (is_stale || filter.unsettled != unsettled)
        {
            filter.unsettled = unsettled;
            filter.was_disturbed = true;
            match filter.stage {
                FilterStage::Between => {}
                FilterStage::Shared(number) => self.leave(LeavingPoint::AfterKept(number), part),
                FilterStage::Own => self.catch_up(),
            }
        }
    }
}
