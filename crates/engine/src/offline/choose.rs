//! Chooses by trial: what pays is added until nothing pays.

use super::accept::{Offer, Paid, accept, add};
use super::course::Kept;
use super::numbers::Numbers;
use super::regions::Regions;
use super::told::{ChosenRange, runs};
use super::trial::{Found, Noted, Piece, Spared, trial};
use super::{Chosen, Setting};
use broadleaf_translation::charges::Ladder;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// How much of what several pieces were to gain together they have to, if they are not to be added: pieces that spare the same misses are looked at one after the other.
const ENOUGH: (i128, i128) = (7, 8);

/// What was chosen for a course, and what it was chosen by.
#[derive(Debug)]
pub(crate) struct Decision {
    /// The best choice; then those that pay when all pieces are looked at for the first time, and none, where these are others.
    pub(crate) choices: Vec<Chosen>,
    /// What each is expected to cost, and what none costs.
    pub(super) cycles: Vec<u64>,
    pub(super) without: u64,
    pub(super) trials: u32,
    /// What each spares by range, where that is told.
    pub(super) ranges: Vec<Vec<ChosenRange>>,
    /// What was noted of each piece where there are no superpages.
    pub(super) noted: BTreeMap<Piece, Noted>,
    pub(super) numbers: Numbers,
    pub(super) regions: Regions,
    pub(super) setting: Setting,
}

/// Chooses for a course. `progress` is told before each trial which it is, and may stop it.
pub(crate) fn choose(
    kept: Kept,
    setting: Setting,
    progress: &mut dyn FnMut(u32) -> ControlFlow<()>,
) -> ControlFlow<(), Decision> {
    let orders: Vec<u8> = (0..setting.sizes.levels())
        .map(|level| setting.sizes.order(level))
        .collect();
    let mut search = Search {
        setting: &setting,
        best: Chosen::new(),
        paid: Paid::new(),
        cost: u64::MAX,
        first: None,
        offers: Vec::new(),
        barred: BTreeSet::new(),
        found: Found::default(),
        charges: Spared::All,
    };
    let (mut trials, mut nothing) = (0, Found::default());
    // Where there is one size there is nothing to choose.
    let ladder = Ladder::new(&orders).ok();
    if let Some(ladder) = ladder {
        while let Some(next) = search.next() {
            trials += 1;
            progress(trials)?;
            let found = trial(&kept, &setting, &next, ladder, search.charges);
            if trials == 1 {
                nothing.clone_from(&found);
            }
            search.learn(next, found);
        }
    }
    let mut all = vec![(search.best, search.cost)];
    all.extend(search.first);
    all.push((Chosen::new(), nothing.cost));
    all.dedup();
    let (choices, cycles): (Vec<Chosen>, _) = all.into_iter().unzip();
    let mut ranges = Vec::new();
    if let Some(ladder) = ladder.filter(|_| setting.tells_ranges) {
        let mut told = trials;
        let mut walks = |chosen: &Chosen| {
            told += 1;
            progress(told)?;
            let found = trial(&kept, &setting, chosen, ladder, Spared::Own);
            ControlFlow::Continue(found.walks.iter().sum())
        };
        for chosen in &choices {
            ranges.push(by_range(
                chosen,
                &setting,
                &kept.regions,
                &nothing,
                &mut walks,
            )?);
        }
    }
    ControlFlow::Continue(Decision {
        choices,
        cycles,
        without: nothing.cost,
        trials,
        ranges,
        noted: nothing.noted,
        numbers: kept.numbers,
        regions: kept.regions,
        setting,
    })
}

/// What chosen pieces spare by range, each as if there were no other: what `walks` there are then, against those where there is nothing.
fn by_range(
    chosen: &Chosen,
    setting: &Setting,
    regions: &Regions,
    nothing: &Found,
    walks: &mut dyn FnMut(&Chosen) -> ControlFlow<(), u64>,
) -> ControlFlow<(), Vec<ChosenRange>> {
    let miss = setting.walk_cycles.first().copied().unwrap_or(0);
    let all: u64 = nothing.walks.iter().sum();
    let mut ranges = Vec::new();
    for pieces in runs(chosen, setting, regions) {
        let own: Chosen = (chosen.iter().skip(pieces.start).take(pieces.len()))
            .map(|(first, level)| (*first, *level))
            .collect();
        let piece = own.iter().next().map(|(first, level)| (*first, *level));
        let noted = piece.and_then(|piece| nothing.noted.get(&piece));
        let walks_spared = match noted {
            Some(noted) if own.len() == 1 => noted.spared,
            _ => all.saturating_sub(walks(&own)?),
        };
        ranges.push(ChosenRange {
            pieces,
            walks_spared,
            walk_cycles_spared: walks_spared * miss,
        });
    }
    ControlFlow::Continue(ranges)
}

struct Search<'a> {
    setting: &'a Setting,
    /// The best so far, what was paid for it, and what it comes to; `u64::MAX` before the first trial.
    best: Chosen,
    paid: Paid,
    cost: u64,
    /// The first that was better than none, and what it comes to.
    first: Option<(Chosen, u64)>,
    /// What is to be added to it next.
    offers: Vec<Offer>,
    /// What did not become a superpage when it was tried, or spared nothing.
    barred: BTreeSet<Piece>,
    /// What the trial of the best found.
    found: Found,
    /// What trials count. What pieces spare their own pages leads most of the way, unless each step is to be the best.
    charges: Spared,
}

impl Search<'_> {
    /// What to try next.
    fn next(&mut self) -> Option<Chosen> {
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

    fn learn(&mut self, tried: Chosen, found: Found) {
        if found.cost == self.cost && tried == self.best {
            self.found = found;
            self.look_around();
            return;
        }
        let missing = |(first, level): (&_, &usize)| {
            (!found.made.contains(first)).then_some((*first, *level))
        };
        let absent: Vec<Piece> = tried.iter().filter_map(missing).collect();
        let gained = i128::from(self.cost) - i128::from(found.cost);
        let promised: i128 = self.offers.iter().map(Offer::gain).sum();
        let enough = gained > 0 && gained * ENOUGH.1 >= promised * ENOUGH.0;
        match &self.offers[..] {
            [_, _, ..] if !enough && absent.is_empty() => {
                // Together they spare less than each by itself: half of them, the better ones, may spare more.
                let before = self.offers.len();
                self.offers.truncate(before / 2);
                return;
            }
            _ if gained <= 0 => {
                // What did not become a superpage will not, and what spared nothing by itself is no good offer.
                let alone = self.offers.iter().map(|offer| offer.piece).take(1);
                let useless: Vec<Piece> = match absent.is_empty() {
                    true => alone.collect(),
                    false => absent,
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
