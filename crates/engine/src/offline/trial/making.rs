//! Promotions in a trial: pieces that become superpages at a fault or a chance.

use super::{Open, Piece, Trial};
use crate::offline::lives::LifeId;
use broadleaf_memory::system::{Appraisal, Place};

impl Trial<'_> {
    /// A page faults, if it lies in no superpage.
    pub(super) fn fault(&mut self, number: u32, appraisal: &Appraisal) {
        let at = self.kept.numbers.place(number);
        let faults = self.around(at).is_none();
        let promoted = self.chance(number, appraisal);
        if faults {
            let filled = if promoted { 0 } else { appraisal.page_cycles };
            self.found.cost += self.setting.fault(filled);
        }
    }

    /// A chosen piece around a page becomes a superpage if it can. Every larger piece that could is
    /// noted. Answers whether one became a superpage.
    pub(super) fn chance(&mut self, number: u32, appraisal: &Appraisal) -> bool {
        let at = self.kept.numbers.place(number);
        let covered = |level: usize| appraisal.covered >> level & 1 != 0;
        let inside = self.around(at).map_or(0, |(_, level)| level);
        let mut made = None;
        for level in (inside + 1..=self.ladder.largest()).rev() {
            let piece = (self.piece(at, level), level);
            if covered(level)
                && let Some(life) = self.lives.at(piece, self.now)
                && self.chosen.contains(&(piece.0, level, life))
            {
                self.make(piece, life);
                self.found.cost += self.setting.price(level, appraisal.page_cycles);
                made = Some(level);
                break;
            }
        }
        for level in made.unwrap_or(inside) + 1..=self.ladder.largest() {
            let piece = (self.piece(at, level), level);
            let Some(life) = self.lives.at(piece, self.now) else {
                continue;
            };
            if !covered(level) {
                continue;
            }
            let since = self.charge(piece);
            self.open.entry(piece).or_insert(Open { life, since });
        }
        made.is_some()
    }

    fn make(&mut self, (first, level): Piece, life: LifeId) {
        let end = Place {
            page: first.page + self.ladder.pages(level),
            ..first
        };
        // The smaller superpages in it are none any more, and neither they nor others in it can be
        // promoted.
        let smaller: Vec<Place> = self.active.range(first..end).map(|(at, _)| *at).collect();
        for at in smaller {
            self.active.remove(&at);
        }
        self.activate((first, level), Some(life));
        self.found.made.entry(life).or_default();
        let parts = self.open.range((first, 0)..(end, 0));
        let parts: Vec<Piece> = parts
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

    /// The pages of a piece are translated by one entry from now on, which is not loaded.
    pub(super) fn activate(&mut self, (first, level): Piece, life: Option<LifeId>) {
        let unit = self.units.len() as u32;
        let made = self.unit(first, level, life);
        self.units.push(made);
        self.retarget(first, level, |_| unit);
        self.active.insert(first, (level, unit));
    }
}
