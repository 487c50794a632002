//! Chooses by trial: what pays is added until nothing pays.

use super::accept::{Offer, Paid, accept, add};
use super::course::Kept;
use super::trial::{Found, Piece, trial};
use super::{Chosen, Setting};
use broadleaf_translation::charges::Ladder;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// A choice is as good as made where what could be added would gain less than this part of the cost, unless one piece is added at a time.
const WORTH_A_TRIAL: i128 = 2000;

/// The pieces chosen for a course: the best choice, then those that pay when all pieces are looked at for the first time, and none, where these are others.
/// `progress` is told before each trial, and may stop it.
pub(crate) fn choose(
    kept: &Kept,
    setting: &Setting,
    progress: &mut dyn FnMut() -> ControlFlow<()>,
) -> ControlFlow<(), Vec<Chosen>> {
    let orders: Vec<u8> = (0..setting.sizes.levels())
        .map(|level| setting.sizes.order(level))
        .collect();
    // Where there is one size there is nothing to choose.
    let Ok(ladder) = Ladder::new(&orders) else {
        return ControlFlow::Continue(Vec::new());
    };
    let mut search = Search {
        setting,
        best: Chosen::new(),
        paid: Paid::new(),
        cost: u64::MAX,
        first: Chosen::new(),
        offers: Vec::new(),
        barred: BTreeSet::new(),
        found: Found::default(),
    };
    while let Some(next) = search.next() {
        progress()?;
        let found = trial(kept, setting, &next, ladder);
        search.learn(next, found);
    }
    let mut choices = vec![search.best, search.first, Chosen::new()];
    choices.dedup();
    ControlFlow::Continue(choices)
}

struct Search<'a> {
    setting: &'a Setting,
    /// The best so far, what was paid for it, and what it comes to; `u64::MAX` before the first trial.
    best: Chosen,
    paid: Paid,
    cost: u64,
    /// The first that was better than none.
    first: Chosen,
    /// What is to be added to it next.
    offers: Vec<Offer>,
    /// What did not become a superpage when it was tried.
    barred: BTreeSet<Piece>,
    /// What the trial of the best found.
    found: Found,
}

impl Search<'_> {
    /// What to try next.
    fn next(&self) -> Option<Chosen> {
        if self.cost == u64::MAX {
            return Some(Chosen::new());
        }
        if self.offers.is_empty() {
            return None;
        }
        Some(self.extended().0)
    }

    fn extended(&self) -> (Chosen, Paid) {
        let (mut chosen, mut paid) = (self.best.clone(), self.paid.clone());
        for offer in &self.offers {
            add(self.setting, &mut chosen, &mut paid, offer);
        }
        (chosen, paid)
    }

    fn learn(&mut self, tried: Chosen, found: Found) {
        let missing = |(first, level): (&_, &usize)| {
            (!found.made.contains(first)).then_some((*first, *level))
        };
        let absent: Vec<Piece> = tried.iter().filter_map(missing).collect();
        if found.cost >= self.cost {
            if absent.is_empty() {
                // Together they spare less than each by itself: half of them, the better ones, may spare more.
                let before = self.offers.len();
                self.offers.truncate(before / 2);
            } else {
                self.barred.extend(absent);
                self.look_around();
            }
            return;
        }
        let (_, mut paid) = self.extended();
        let mut best = tried;
        for (first, _) in &absent {
            best.remove(first);
            paid.remove(first);
        }
        self.barred.extend(absent);
        if self.first.is_empty() {
            self.first.clone_from(&best);
        }
        (self.best, self.paid, self.cost, self.found) = (best, paid, found.cost, found);
        self.look_around();
    }

    /// Looks what pays beside the best.
    fn look_around(&mut self) {
        let (setting, found) = (self.setting, &self.found);
        self.offers = accept(found, setting, &self.best, &self.paid, &self.barred);
        let gain: i128 = self.offers.iter().map(Offer::gain).sum();
        if !setting.search.one_by_one && gain * WORTH_A_TRIAL < i128::from(self.cost) {
            self.offers.clear();
        }
    }
}
