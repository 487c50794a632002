//! What to try next, by what was found so far.

use super::accept::{Offer, Paid, accept, add};
use super::trial::{Found, Piece, Spared};
use super::{Chosen, Setting};
use std::collections::BTreeSet;

/// How much of what several pieces were to gain together they have to, if they are not to be added: pieces that spare the same misses are looked at one after the other.
const ENOUGH: (i128, i128) = (7, 8);

/// A search for the superpages that are worth it.
pub(super) struct Search<'a> {
    setting: &'a Setting,
    /// The best so far, what was paid for it, and what it comes to; `u64::MAX` before the first trial.
    pub(super) best: Chosen,
    paid: Paid,
    pub(super) cost: u64,
    /// The first that was better than none, and what it comes to.
    pub(super) first: Option<(Chosen, u64)>,
    /// What is to be added to it next.
    offers: Vec<Offer>,
    /// What did not become a superpage when it was tried, or spared nothing.
    barred: BTreeSet<Piece>,
    /// What the trial of the best found.
    found: Found,
    /// What trials count. What pieces spare their own pages leads most of the way, unless each step is to be the best.
    pub(super) charges: Spared,
}

impl<'a> Search<'a> {
    /// That has tried nothing yet.
    pub(super) fn new(setting: &'a Setting) -> Self {
        Self {
            setting,
            best: Chosen::new(),
            paid: Paid::new(),
            cost: u64::MAX,
            first: None,
            offers: Vec::new(),
            barred: BTreeSet::new(),
            found: Found::default(),
            charges: Spared::All,
        }
    }

    /// What to try next.
    pub(super) fn next(&mut self) -> Option<Chosen> {
        if self.cost == u64::MAX {
            return Some(Chosen::new());
        }
        if self.offers.is_empty() && self.charges == Spared::Own {
            // Once more, to count all.
            self.charges = Spared::All;
            return Some(self.best.clone());
        }
        (!self.offers.is_empty()).then(|| self.extended().0)
    }

    fn extended(&self) -> (Chosen, Paid) {
        let (mut chosen, mut paid) = (self.best.clone(), self.paid.clone());
        for offer in &self.offers {
            add(self.setting, &mut chosen, &mut paid, offer);
        }
        (chosen, paid)
    }

    /// What came of what was tried.
    pub(super) fn learn(&mut self, tried: Chosen, found: Found) {
        if found.cost == self.cost && tried == self.best {
            self.found = found;
            self.look_around();
            return;
        }
        let missing = |(first, level): (&_, &usize)| {
            (!found.made.contains(first)).then_some((*first, *level))
        };
        let absent: Vec<Piece> = tried.iter().filter_map(missing).collect();
        // What was chosen before may be absent because of what is tried, which is not its fault.
        let refused: Vec<Piece> = (self.offers.iter().map(|offer| offer.piece))
            .filter(|piece| absent.contains(piece))
            .collect();
        let gained = i128::from(self.cost) - i128::from(found.cost);
        let promised: i128 = self.offers.iter().map(Offer::gain).sum();
        let enough = gained > 0 && gained * ENOUGH.1 >= promised * ENOUGH.0;
        match &self.offers[..] {
            [_, _, ..] if !enough && refused.is_empty() => {
                // Together they spare less than each by itself: half of them, the better ones, may spare more.
                let before = self.offers.len();
                self.offers.truncate(before / 2);
                return;
            }
            _ if gained <= 0 => {
                // What did not become a superpage will not, and what spared nothing by itself is no good offer.
                let alone = self.offers.iter().map(|offer| offer.piece).take(1);
                let useless: Vec<Piece> = match refused.is_empty() {
                    true => alone.collect(),
                    false => refused,
                };
                self.barred.extend(useless);
                self.look_around();
                return;
            }
            _ => {}
        }
        let (_, mut paid) = self.extended();
        let mut best = tried;
        for (first, _) in &absent {
            best.remove(first);
            paid.remove(first);
        }
        self.barred.extend(absent);
        if self.first.is_none() && !best.is_empty() {
            self.first = Some((best.clone(), found.cost));
        }
        if self.cost == u64::MAX && !self.setting.search.one_by_one {
            self.charges = Spared::Own;
        }
        (self.best, self.paid, self.cost, self.found) = (best, paid, found.cost, found);
        self.look_around();
    }

    /// Looks what pays beside the best.
    fn look_around(&mut self) {
        let (setting, found) = (self.setting, &self.found);
        self.offers = accept(
            found,
            setting,
            &self.best,
            &self.paid,
            &self.barred,
            self.charges,
        );
    }
}
