//! Translations are loaded into structures after a walk, or after a hit in a lower level.

use super::Composed;
use crate::design::MOST_TLB_LEVELS;
use crate::placed::Placed;
use crate::role::Fills;
use crate::{Entries, Evicted, ReferenceKind, TlbLog, TlbRequest, Walk};
use broadleaf_units::{PageNumber, PageSize};

impl Composed {
    /// Loads the translation of a walk at each level. A size that no structure holds is not loaded.
    pub fn load(&mut self, walk: &Walk<'_>) {
        self.log.ignores_evicted = self.ignores_evicted();
        self.load_all(walk);
        self.log.ignores_evicted = false;
        self.gone.clear();
    }

    /// Loads as [`Composed::load`]. `evicted` receives translations that no level holds any more.
    pub fn load_evicting(&mut self, walk: &Walk<'_>, evicted: impl FnMut(Evicted)) {
        self.load_all(walk);
        self.report(evicted);
    }

    pub(super) fn load_all(&mut self, walk: &Walk<'_>) {
        for level in 1..=MOST_TLB_LEVELS {
            if let Some(number) = self.taker(level, walk.translation.size, walk.request.kind) {
                let (page, size) = (walk.request.page, walk.translation.size);
                self.load_into(number, page, size, |entries, log| entries.load(walk, log));
            }
        }
        self.prefetch(walk);
    }

    /// The structure of a level that receives the page of a walk: the one whose turn it is, if
    /// several hold the size.
    pub(super) fn taker(
        &mut self,
        level: usize,
        size: PageSize,
        kind: ReferenceKind,
    ) -> Option<usize> {
        let takes = |placed: &Placed| {
            let holds = placed.level == level && placed.sizes.contains(&size);
            holds && placed.role.serves.has(kind) && placed.role.fills == Fills::Walks
        };
        let all = 0..self.structures.len();
        let mut takers = all.filter(|at| takes(&self.structures[*at]));
        let first = takers.next()?;
        let Some(second) = takers.next() else {
            return Some(first);
        };
        // Each size takes turns of its own, at each level.
        let last = |number: &usize| self.structures[*number].last_turn(size);
        let number = [first, second].into_iter().chain(takers).min_by_key(last)?;
        self.turn += 1;
        self.structures[number].take_turn(size, self.turn);
        Some(number)
    }

    /// Loads the translation of a page of a size into a structure.
    pub(super) fn load_into(
        &mut self,
        number: usize,
        page: PageNumber,
        size: PageSize,
        load: impl FnOnce(&mut dyn Entries, &mut TlbLog),
    ) {
        self.repeated.forget();
        let placed = &mut self.structures[number];
        let level = placed.level;
        load(placed.entries.as_mut(), &mut self.log);
        if level == 1 {
            if let Some(quiet) = &mut self.quiet {
                quiet.forget(placed.entries.disturbed(page, size));
            }
            self.last = number;
        }
        self.settle(number);
        self.renew_epoch(number, page, size);
    }

    /// Loads the page after the missing one into structures for prefetched translations.
    fn prefetch(&mut self, walk: &Walk<'_>) {
        let is_buffer = |placed: &Placed| {
            placed.role.fills == Fills::Prefetches && placed.role.serves.has(walk.request.kind)
        };
        let all = 0..self.structures.len();
        let buffers: Vec<usize> = all.filter(|at| is_buffer(&self.structures[*at])).collect();
        if buffers.is_empty() {
            return;
        }
        let next = PageNumber(walk.translation.pages().1);
        self.log.counts.table_reads += 1;
        let Some(translation) = (walk.read)(next).filter(|next| !self.holds(next)) else {
            return;
        };
        let request = TlbRequest {
            page: next,
            ..walk.request
        };
        let ahead = Walk {
            request,
            translation,
            ..*walk
        };
        for number in buffers {
            if self.structures[number].sizes.contains(&translation.size) {
                self.structures[number].entries.load(&ahead, &mut self.log);
                self.settle(number);
            }
        }
    }
}
