//! Promotions in a trial: pieces that become superpages at a fault or a chance.

use super::{LadderPiece, Open, Trial};
use crate::offline::Work;
use crate::offline::lives::LifeId;
use broadleaf_memory::system::{Appraisal, Place};
use broadleaf_policy::Cycles;

impl Trial<'_> {
    /// A page of the trace faults. In the trial the page may be resident: a superpage brought the
    /// page in.
    pub(super) fn fault(&mut self, number: u32, appraisal: &Appraisal) {
        let at = self.kept.numbers.place(number);
        let faults = !self.residence.holds(at);
        let work = self.chance(number, appraisal, faults);
        if faults {
            // The page comes alone first, unless the fault fills an empty piece.
            let fills = work.is_some_and(|work| work.copied == 0);
            let filled = if fills { 0 } else { appraisal.page_cycles };
            self.found.cost += self.setting.fault(filled);
            self.residence.add(at);
        }
    }

    /// Makes the largest chosen piece around a page a superpage. Notes every larger piece that
    /// could be a superpage. Returns the work of the promotion, if there was one.
    pub(super) fn chance(
        &mut self,
        number: u32,
        appraisal: &Appraisal,
        faults: bool,
    ) -> Option<Work> {
        let at = self.kept.numbers.place(number);
        let inside = self.around(at).map_or(0, |(_, level)| level);
        let levels = inside + 1..=self.ladder.largest();
        let covered = levels.filter(|level| appraisal.covered >> level & 1 != 0);
        let lives: Vec<(LadderPiece, LifeId)> = covered
            .filter_map(|level| {
                let piece = (self.piece(at, level), level);
                Some((piece, self.lives.at(piece, self.now)?))
            })
            .collect();
        for (piece, life) in &lives {
            if !self.found.prices.contains_key(life) {
                let work = self.work(*piece, faults);
                let price = self.lives.price(self.setting, *life, work, faults);
                self.found.prices.insert(*life, price);
            }
        }
        let is_chosen = |((first, level), life): &(LadderPiece, LifeId)| {
            self.chosen.contains(&(*first, *level, *life))
        };
        let made = lives.iter().rposition(is_chosen);
        let work = made.map(|made| {
            let (piece, life) = lives[made];
            let work = self.work(piece, faults);
            self.found.cost += self.setting.promotion(piece.1, work, appraisal.page_cycles);
            self.make(piece, life);
            work
        });
        for (piece, life) in lives.into_iter().skip(made.map_or(0, |made| made + 1)) {
            let since = self.charge(piece);
            self.open.entry(piece).or_insert(Open { life, since });
        }
        work
    }

    /// The work of a promotion at a fault or at a miss: a fault in an empty piece fills the piece;
    /// every other promotion copies what is resident then, the page that faulted included. Copying
    /// is spared where the pages lie in one extent, unless each promotion has its full price
    /// (spec charges 22).
    fn work(&self, piece: LadderPiece, faults: bool) -> Work {
        let pages = self.ladder.pages(piece.1);
        let copied = match self.residence.count(piece) {
            0 if faults => 0,
            resident if faults => resident + 1,
            // The page of the miss is resident, even if the trial does not know the reason.
            resident => resident.max(1),
        };
        if self.setting.search.cycles == Cycles::All && self.residence.is_together(piece) {
            return Work::default();
        }
        Work {
            copied,
            filled: pages - copied,
        }
    }

    fn make(&mut self, (first, level): LadderPiece, life: LifeId) {
        let end = Place {
            page: first.page + self.ladder.pages(level),
            ..first
        };
        // The promotion ends the smaller superpages in the piece. Neither they nor other pieces in
        // it can be promoted now.
        let smaller: Vec<Place> = self.active.range(first..end).map(|(at, _)| *at).collect();
        for at in smaller {
            self.active.remove(&at);
        }
        self.residence.gather((first, level));
        self.activate((first, level), Some(life));
        self.found.made.entry(life).or_default();
        let parts = self.open.range((first, 0)..(end, 0));
        let parts: Vec<LadderPiece> = parts
            .map(|(piece, _)| *piece)
            .filter(|(part, of)| part.page + self.ladder.pages(*of) <= end.page)
            .collect();
        for part in parts {
            self.settle(part);
        }
        let pages = self.ladder.pages(level);
        let tag = self.tag(first.space);
        self.prefetch.shoot_down(tag, first.page, pages);
        if let Some(capacity) = &mut self.capacity {
            capacity.shoot_down(tag, first.page, pages);
        }
    }

    /// Translates the pages of a piece by one entry from now on. The entry is not loaded.
    pub(super) fn activate(&mut self, (first, level): LadderPiece, life: Option<LifeId>) {
        let unit = self.units.len() as u32;
        let made = self.unit(first, level, life);
        self.units.push(made);
        self.retarget(first, level, |_| unit);
        self.active.insert(first, (level, unit));
    }
}
