//! The order of trials: the results of earlier trials determine the next one.

use super::accept::{Offer, Paid, accept, add};
use super::lives::{LifeId, Lives};
use super::trial::{Spared, TrialResult};
use super::{Chosen, OfflineSetting};
use std::collections::BTreeSet;

/// The part of their promised gain that several lives must have together. Otherwise half of them
/// are tried, since lives that spare the same misses are worth little together.
const ENOUGH: (i128, i128) = (7, 8);
/// The maximum number of trials that add several lives at a time. More trials would find little,
/// and OFFLINE spends its time in trials.
const MOST_TRIALS: u32 = 64;

/// A search for the superpages that are worth their price.
pub(super) struct TrialSearch<'a> {
    setting: &'a OfflineSetting,
    lives: &'a Lives,
    /// The best choice so far, the prices paid for it, and its cost; `u64::MAX` before the first
    /// trial.
    pub(super) best: Chosen,
    pub(super) paid: Paid,
    /// The prices of lives where there are no superpages.
    pub(super) alone: Paid,
    pub(super) cost: u64,
    /// The first choice that was better than none, and its cost.
    pub(super) first: Option<(Chosen, u64)>,
    /// The offers that are added next.
    offers: Vec<Offer>,
    /// Lives that did not occur when they were tried, or spared nothing.
    barred: BTreeSet<LifeId>,
    /// The result of the best choice's trial.
    pub(super) found: TrialResult,
    /// The misses that trials count. The search first counts the misses that pieces spare their own
    /// pages, unless each step must be the best.
    pub(super) charges: Spared,
    trials: u32,
}

impl<'a> TrialSearch<'a> {
    /// A search before its first trial.
    pub(super) fn new(setting: &'a OfflineSetting, lives: &'a Lives) -> Self {
        Self {
            setting,
            lives,
            best: Chosen::new(),
            paid: Paid::new(),
            alone: Paid::new(),
            cost: u64::MAX,
            first: None,
            offers: Vec::new(),
            barred: BTreeSet::new(),
            found: TrialResult::default(),
            charges: Spared::All,
            trials: 0,
        }
    }

    /// The choice to try next.
    pub(super) fn next(&mut self) -> Option<Chosen> {
        if self.cost == u64::MAX {
            return Some(Chosen::new());
        }
        self.trials += 1;
        if self.trials > MOST_TRIALS && !self.setting.search.one_by_one {
            return None;
        }
        if self.offers.is_empty() && self.charges == Spared::Own {
            // One more trial counts all misses that are spared.
            self.charges = Spared::All;
            return Some(self.best.clone());
        }
        (!self.offers.is_empty()).then(|| self.extended().0)
    }

    fn extended(&self) -> (Chosen, Paid) {
        let (mut chosen, mut paid) = (self.best.clone(), self.paid.clone());
        for offer in &self.offers {
            add(self.lives, self.setting, &mut chosen, &mut paid, offer);
        }
        (chosen, paid)
    }

    /// Updates the search with the result of trying a choice.
    pub(super) fn learn(&mut self, tried: Chosen, found: TrialResult) {
        if self.cost == u64::MAX {
            self.alone.clone_from(&found.prices);
        }
        if found.cost == self.cost && tried == self.best {
            self.found = found;
            self.look_around();
            return;
        }
        let absent: BTreeSet<LifeId> = (tried.iter().map(|(.., life)| *life))
            .filter(|life| !found.made.contains_key(life))
            .collect();
        // A life that was chosen before may be absent because of the tried lives, and is not
        // barred.
        let refused: Vec<LifeId> = (self.offers.iter().map(|offer| offer.life))
            .filter(|life| absent.contains(life))
            .collect();
        let gained = i128::from(self.cost) - i128::from(found.cost);
        let promised: i128 = self.offers.iter().map(Offer::gain).sum();
        let enough = gained > 0 && gained * ENOUGH.1 >= promised * ENOUGH.0;
        match &self.offers[..] {
            [_, _, ..] if !enough && refused.is_empty() => {
                // Together the lives spare less than each alone, so the better half may spare more.
                let before = self.offers.len();
                self.offers.truncate(before / 2);
                return;
            }
            _ if gained <= 0 => {
                let alone = self.offers.iter().map(|offer| offer.life).take(1);
                let useless: Vec<LifeId> = match refused.is_empty() {
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
        best.retain(|(.., life)| !absent.contains(life));
        paid.retain(|life, _| !absent.contains(life));
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

    /// Takes a choice from outside the search if it costs less than the best one. Returns true if
    /// it does.
    pub(super) fn take(&mut self, tried: &Chosen, found: TrialResult) -> bool {
        if found.cost >= self.cost {
            return false;
        }
        let made = |life: LifeId| found.made.contains_key(&life);
        self.best = tried.iter().copied().filter(|at| made(at.2)).collect();
        let lives = self.best.iter().map(|(.., life)| *life);
        let price = |life| Some((life, *found.prices.get(&life)?));
        self.paid = lives.filter_map(price).collect();
        self.cost = found.cost;
        self.found = found;
        self.barred.clear();
        self.trials = 0;
        self.look_around();
        true
    }

    /// Computes the offers that extend the best choice.
    fn look_around(&mut self) {
        self.offers = accept(
            &self.found,
            self.lives,
            self.setting,
            (&self.best, &self.paid),
            &self.alone,
            &self.barred,
            self.charges,
        );
    }
}
