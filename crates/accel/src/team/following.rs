//! Curves and reservations between the visits that a memory notices.

use super::Team;
use crate::batch::Batch;
use crate::curve::Curve;
use crate::members::Superpages;
use broadleaf_memory::{AddressSpaces, BlockId};
use broadleaf_units::{PageNumber, SpaceId};
use std::ops::Range;

impl Team<'_> {
    /// Makes lookups as [`Self::look_up`] does, and passes pages of the trail to the curves. The
    /// pages lie between the previous visits and the next visit that a memory notices.
    pub(super) fn follow(
        &mut self,
        batch: &Batch,
        mut visits: Range<usize>,
        mut pages: Range<usize>,
        spaces: &AddressSpaces,
    ) {
        let trail = &batch.trail;
        loop {
            if self.never_due() {
                self.follow_all(batch, visits, pages);
                return;
            }
            let visit = batch.times[visits.clone()].first();
            let page = trail.times[pages.clone()].first();
            let Some(&next) = visit.into_iter().chain(page).min() else {
                return;
            };
            if self.due <= next {
                self.ask_due(next, spaces);
                // The page may come after these pages: in the next visit that a memory notices, or
                // in the next stretch.
                if trail.times.get(pages.start) != Some(&next) {
                    // The access at that time went to the page that was looked up last, too.
                    self.look_last_up();
                }
            }
            // The decisions hold until the next reservation falls due.
            let due = |time: &u64| self.never_due() || *time < self.due;
            let visit = visits.start + batch.times[visits.clone()].partition_point(due);
            let page = pages.start + trail.times[pages.clone()].partition_point(due);
            self.follow_all(batch, visits.start..visit, pages.start..page);
            (visits.start, pages.start) = (visit, page);
        }
    }

    /// Makes lookups and passes pages to the curves, between two times at which reservations fall
    /// due.
    fn follow_all(&mut self, batch: &Batch, visits: Range<usize>, pages: Range<usize>) {
        for translation in &mut self.translations {
            translation.look_up(batch, visits.clone(), &self.superpages);
        }
        let pages = &batch.trail.pages[pages];
        for &(page, block) in pages {
            look_up(&mut self.curves, &self.superpages, batch.space, page, block);
        }
        if let Some(&(page, block)) = pages.last() {
            self.last = Some((batch.space, page, block));
        }
    }

    /// Looks up the page of the last lookup again, in the TLBs of all geometries.
    pub(super) fn look_last_up(&mut self) {
        if let Some((space, page, block)) = self.last {
            look_up(&mut self.curves, &self.superpages, space, page, block);
        }
    }

    /// Returns true if no reservation falls due, not even at the last possible time.
    pub(super) const fn never_due(&self) -> bool {
        self.due == u64::MAX
    }

    /// Asks about reservations that fall due before the access at that time.
    pub(super) fn ask_due(&mut self, time: u64, spaces: &AddressSpaces) {
        if self.due > time {
            return;
        }
        if !self.curves.is_empty() && self.due < time {
            // Accesses that were made since then went to the page that was looked up last, which
            // may be part of a superpage now.
            self.ask_all_due(time - 1, spaces);
            self.look_last_up();
        }
        self.ask_all_due(time, spaces);
    }

    fn ask_all_due(&mut self, time: u64, spaces: &AddressSpaces) {
        for member in 0..self.cells.len() {
            while let Some(block) = self.cells[member].ask_due(time, spaces) {
                self.note(block, member);
            }
        }
        self.find_due();
    }
}

/// Looks a page up in the TLBs of all geometries.
#[inline]
fn look_up(
    curves: &mut [Curve],
    superpages: &Superpages,
    space: SpaceId,
    page: PageNumber,
    block: BlockId,
) {
    let superpage = superpages.of(block);
    for (member, curve) in curves.iter_mut().enumerate() {
        curve.look_up(space, page, superpage >> member & 1 != 0);
    }
}
