//! What is taken away under some superpages: which break, and what pieces are said to have spared until then.

use super::{Piece, Trial};
use broadleaf_memory::system::Place;
use std::collections::BTreeSet;

impl Trial<'_> {
    /// Translations of so many pages left the TLB, and where they are gone, so did the pages.
    pub(super) fn removed(&mut self, first: Place, pages: u64, gone: bool) {
        let end = first.page.saturating_add(pages);
        let before = self.around(first);
        let starting = Place { page: end, ..first };
        let inside =
            (self.active.range(first..starting)).map(|(first, (level, _))| (*first, *level));
        let meeting: BTreeSet<Piece> = inside.chain(before).collect();
        for (at, level) in meeting {
            let whole =
                at.page >= first.page && at.page.saturating_add(self.ladder.pages(level)) <= end;
            if whole && !gone {
                continue;
            }
            // What is left of it are base pages.
            self.active.remove(&at);
            if !whole {
                self.found.cost += self.setting.demotion();
            }
            self.retarget(at, level, |number| number);
            if let Some(candidate) = self.candidate((at, level)) {
                self.prefetch.demote(candidate);
                if let Some(capacity) = &mut self.capacity {
                    capacity.demote(candidate);
                }
            }
        }
        let numbers: Vec<u32> = self.kept.numbers.among(first, pages).collect();
        for number in numbers {
            self.recency.remove(self.unit_of[number as usize]);
        }
        self.break_at_the_ends(first, end);
        let tag = self.tag(first.space);
        if !gone {
            self.prefetch.shoot_down(tag, first.page, pages);
            if let Some(capacity) = &mut self.capacity {
                capacity.shoot_down(tag, first.page, pages);
            }
            return;
        }
        let range = (first, 0)..(starting, 0);
        let ending: Vec<Piece> = (self.found.noted.range(range))
            .map(|(piece, _)| *piece)
            .filter(|(at, level)| at.page + self.ladder.pages(*level) <= end)
            .collect();
        for piece in ending {
            self.settle(piece);
        }
        self.prefetch.forget(tag, first.page, pages);
        if let Some(capacity) = &mut self.capacity {
            capacity.forget(tag, first.page, pages);
        }
    }

    /// Pieces that lie partly in a range of which something is taken away would be base pages from then on, until one of them faults again.
    fn break_at_the_ends(&mut self, first: Place, end: u64) {
        for level in 1..=self.ladder.largest() {
            for page in [first.page, end.saturating_sub(1)] {
                let at = self.piece(Place { page, ..first }, level);
                let inside = at.page >= first.page
                    && at.page.saturating_add(self.ladder.pages(level)) <= end;
                if !inside {
                    self.settle((at, level));
                }
            }
        }
    }

    /// What a piece was charged so far is spared; it has to be covered anew to be charged more.
    pub(super) fn settle(&mut self, piece: Piece) {
        let charge = self.charge(piece);
        if let Some(noted) = self.found.noted.get_mut(&piece)
            && noted.covered
        {
            noted.spared += charge.saturating_sub(noted.since);
            noted.covered = false;
        }
    }
}
