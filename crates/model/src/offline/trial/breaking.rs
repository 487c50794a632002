//! Breaks in a trial: superpages when the trace removes pages or translations.

use super::super::lives::ended;
use super::{LadderPiece, Trial};
use broadleaf_memory::system::Place;
use std::collections::BTreeSet;

impl Trial<'_> {
    /// Removes the translations of `pages` pages from the TLB, and the pages as well if `gone`.
    pub(super) fn removed(&mut self, first: Place, pages: u64, gone: bool) {
        let end = first.page.saturating_add(pages);
        let before = self.around(first);
        let starting = Place { page: end, ..first };
        let inside =
            (self.active.range(first..starting)).map(|(first, (level, _))| (*first, *level));
        let meeting: BTreeSet<LadderPiece> = inside.chain(before).collect();
        for (at, level) in meeting {
            let whole =
                at.page >= first.page && at.page.saturating_add(self.ladder.pages(level)) <= end;
            if whole && !gone {
                continue;
            }
            self.break_up((at, level), first.page..end, gone);
        }
        let numbers: Vec<u32> = self.kept.numbers.among(first, pages).collect();
        for number in numbers {
            self.recency.remove(self.unit_of[number as usize]);
        }
        for piece in ended(&self.open, &self.ladder, first, pages, gone) {
            self.settle(piece);
        }
        let tag = self.tag(first.space);
        if gone {
            self.residence.remove(first, pages);
            self.prefetch.forget(tag, first.page, pages);
            if let Some(capacity) = &mut self.capacity {
                capacity.forget(tag, first.page, pages);
            }
        } else {
            self.prefetch.shoot_down(tag, first.page, pages);
            if let Some(capacity) = &mut self.capacity {
                capacity.shoot_down(tag, first.page, pages);
            }
        }
    }

    /// A superpage is broken by the policy's sizes: the parts that the range does not cross stay
    /// superpages (spec memory 16).
    fn break_up(&mut self, (at, level): LadderPiece, range: std::ops::Range<u64>, gone: bool) {
        let removed = self.active.remove(&at);
        let life = removed.and_then(|(_, unit)| self.units[unit as usize].life);
        self.retarget(at, level, |number| number);
        if let Some(candidate) = self.candidate((at, level)) {
            self.prefetch.demote(candidate);
            if let Some(capacity) = &mut self.capacity {
                capacity.demote(candidate);
            }
        }
        let mut broken = vec![(at, level)];
        while let Some((at, level)) = broken.pop() {
            let end = at.page.saturating_add(self.ladder.pages(level));
            let outside = end <= range.start || range.end <= at.page;
            let inside = range.start <= at.page && end <= range.end;
            if level == 0 || inside && gone {
                continue;
            }
            if outside || inside {
                self.activate((at, level), life);
                continue;
            }
            self.found.cost += self.setting.demotion();
            let each = self.ladder.pages(level - 1);
            let parts = (at.page..end).step_by(each as usize);
            broken.extend(parts.map(|page| (Place { page, ..at }, level - 1)));
        }
    }

    /// Counts the charges of a piece until now as misses that it would have spared. Counting
    /// resumes when the piece is covered again.
    pub(super) fn settle(&mut self, piece: LadderPiece) {
        let Some(open) = self.open.remove(&piece) else {
            return;
        };
        let charge = self.charge(piece).saturating_sub(open.since);
        *self.found.spared.entry(open.life).or_default() += charge;
    }
}
