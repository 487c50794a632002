//! Faults under some superpages, and what becomes one at them.

use super::{Piece, Trial};
use broadleaf_memory::system::{Appraisal, Place};

impl Trial<'_> {
    /// A page faults: a chosen piece that it lies in becomes a superpage if it can, and every other that could is noted.
    pub(super) fn fault(&mut self, number: u32, appraisal: &Appraisal) {
        let at = self.kept.numbers.place(number);
        let covered = |level: usize| appraisal.covered >> level & 1 != 0;
        let mut inside = self.around(at).map(|(_, level)| level);
        if inside.is_none() {
            let asked = (1..=self.ladder.largest()).rev().find(|level| {
                covered(*level) && self.chosen.get(&self.piece(at, *level)) == Some(level)
            });
            match asked {
                Some(level) => {
                    self.found.cost += self.setting.fault(0);
                    self.found.cost += self.setting.price(level, appraisal.page_cycles);
                    self.make((self.piece(at, level), level));
                }
                None => self.found.cost += self.setting.fault(appraisal.page_cycles),
            }
            inside = asked;
        }
        for level in inside.unwrap_or(0) + 1..=self.ladder.largest() {
            if !covered(level) {
                continue;
            }
            let piece = (self.piece(at, level), level);
            let charge = self.charge(piece);
            let noted = self.found.noted.entry(piece).or_default();
            noted.faults += 1;
            noted.lives += u64::from(appraisal.empty >> level & 1);
            noted.page_cycles = appraisal.page_cycles;
            if !noted.covered {
                noted.covered = true;
                noted.since = charge;
            }
        }
    }

    fn make(&mut self, (first, level): Piece) {
        let unit = self.units.len() as u32;
        let made = self.unit(first, level);
        self.units.push(made);
        self.retarget(first, level, |_| unit);
        let end = Place {
            page: first.page + self.ladder.pages(level),
            ..first
        };
        // What were smaller superpages in it are none any more.
        let smaller: Vec<Place> = self.active.range(first..end).map(|(at, _)| *at).collect();
        for at in smaller {
            self.active.remove(&at);
        }
        self.active.insert(first, (level, unit));
        self.found.made.insert(first);
        let inside = (first, 0)..(end, 0);
        let (noted, ladder) = (&mut self.found.noted, &self.ladder);
        let parts: Vec<Piece> = (noted.range(inside))
            .map(|(piece, _)| *piece)
            .filter(|(part, of)| part.page + ladder.pages(*of) <= first.page + ladder.pages(level))
            .collect();
        for part in parts {
            noted.remove(&part);
        }
        self.prefetch
            .shoot_down(made.tag, first.page, self.ladder.pages(level));
        if let Some(capacity) = &mut self.capacity {
            capacity.shoot_down(made.tag, first.page, self.ladder.pages(level));
        }
    }
}
