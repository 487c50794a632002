//! Capacity charges against their rule, counted over a list of all translations in the order of
//! their last use.

use super::slow::{HostStep, Mapped, TlbEntry, around, cases, lies_in, meets, overlap};
use broadleaf_charges::{Candidate, CapacityCharges, Ladder};
use broadleaf_units::Asid;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// The LRU list, and the charges of each candidate.
struct Listing {
    ladder: Ladder,
    entries: usize,
    mapped: Mapped,
    /// The translations, the newest last.
    recent: Vec<TlbEntry>,
    charges: BTreeMap<Candidate, u64>,
}

impl Listing {
    fn depth(&self, entry: TlbEntry) -> Option<usize> {
        let at = self.recent.iter().rposition(|other| *other == entry)?;
        // The depth is 1 for the newest.
        Some(self.recent.len() - at)
    }

    fn miss(&mut self, entry: TlbEntry) -> Vec<(Candidate, u64)> {
        let Some(depth) = self.depth(entry).filter(|depth| *depth > self.entries) else {
            return Vec::new();
        };
        let newer = &self.recent[self.recent.len() - (depth - 1)..];
        let mut counts: BTreeMap<(usize, Candidate), usize> = BTreeMap::new();
        for one in newer {
            for level in one.level + 1..=self.ladder.largest() {
                let candidate = around(&self.ladder, one.tag, one.first, level);
                if !overlap(&self.ladder, candidate, entry) {
                    *counts.entry((level, candidate)).or_default() += 1;
                }
            }
        }
        let enough = |count: &usize| *count > depth - self.entries;
        let charged = counts.iter().filter(|(_, count)| enough(count));
        let charged: Vec<Candidate> = charged.map(|((_, candidate), _)| *candidate).collect();
        let charge = |candidate| {
            let charge = self.charges.entry(candidate).or_default();
            *charge += 1;
            (candidate, *charge)
        };
        charged.into_iter().map(charge).collect()
    }

    fn touch(&mut self, entry: TlbEntry) {
        self.recent.retain(|other| *other != entry);
        self.recent.push(entry);
        // No candidate could have kept what was used longer ago.
        let kept = self.entries + self.ladder.pages(self.ladder.largest()) as usize - 1;
        self.recent.drain(..self.recent.len().saturating_sub(kept));
    }

    fn shoot_down(&mut self, tag: Asid, start: u64, pages: u64) {
        self.recent
            .retain(|entry| !meets(&self.ladder, *entry, tag, start, pages));
    }

    fn forget(&mut self, tag: Asid, start: u64, pages: u64) {
        let ladder = self.ladder;
        self.mapped.forget(&ladder, tag, start, pages);
        self.shoot_down(tag, start, pages);
        (self.charges).retain(|one, _| !lies_in(&ladder, *one, tag, start, pages));
    }

    fn step(&mut self, step: &HostStep, charges: &mut CapacityCharges) {
        let ladder = self.ladder;
        match *step {
            HostStep::Refer(tag, page) => {
                let level = self.mapped.level_of(&ladder, tag, page);
                let entry = around(&ladder, tag, page, level);
                // A reported hit is not charged, at any depth.
                if self.depth(entry).is_some_and(|depth| depth <= self.entries) {
                    charges.touch(tag, page, level);
                } else {
                    let slowly = self.miss(entry);
                    let mut charged = Vec::new();
                    charges.miss(tag, page, level, |one, charge| charged.push((one, charge)));
                    assert!(charged.is_sorted_by_key(|(one, _)| one.level));
                    charged.sort_by_key(|(one, _)| (one.level, *one));
                    assert_eq!(charged, slowly, "{entry:?}");
                }
                self.touch(entry);
            }
            HostStep::Promote(tag, page, level, _) => {
                let candidate = around(&ladder, tag, page, level);
                if self.mapped.promote(&ladder, candidate) {
                    self.shoot_down(tag, candidate.first, ladder.pages(level));
                    self.touch(candidate);
                    charges.promote(candidate);
                }
            }
            HostStep::Demote(tag, page) => {
                if let Some(candidate) = self.mapped.demote(&ladder, tag, page) {
                    self.shoot_down(tag, candidate.first, ladder.pages(candidate.level));
                    charges.demote(candidate);
                }
            }
            // An eviction does not change the order. A promotion must be reported.
            HostStep::Evict(_) | HostStep::Map(..) => {}
            HostStep::ShootDown(tag, start, pages) => {
                self.shoot_down(tag, start, pages);
                charges.shoot_down(tag, start, pages);
            }
            HostStep::Forget(tag, start, pages) => {
                self.forget(tag, start, pages);
                charges.forget(tag, start, pages);
            }
            HostStep::ForgetSpace(tag) => {
                self.forget(tag, 0, u64::MAX);
                charges.forget(tag, 0, u64::MAX);
            }
            HostStep::Reset => {
                self.charges.clear();
                charges.reset();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn as_the_rule_says((ladder, steps) in cases(250), entries in 1..8usize) {
        let mut charges = CapacityCharges::new(ladder, entries);
        let (mapped, recent) = (Mapped::default(), Vec::new());
        let mut slow = Listing { ladder, entries, mapped, recent, charges: BTreeMap::new() };
        let mut all = BTreeSet::new();
        for step in &steps {
            slow.step(step, &mut charges);
            charges.check();
            all.extend(slow.charges.keys().copied());
            for candidate in &all {
                let charge = slow.charges.get(candidate).copied().unwrap_or(0);
                prop_assert_eq!(charges.charge(*candidate), charge, "{:?}", candidate);
            }
        }
    }
}

/// Far more pages than are kept, and a superpage that is one of them.
#[test]
fn a_long_time_ago() {
    let tag = Asid::default();
    let ladder = Ladder::new(&[0, 4]).unwrap();
    let mut charges = CapacityCharges::new(ladder, 4);
    let mut charged_after = |between: u64| {
        charges.miss(tag, 0, 0, |_, _| {});
        for page in 16..16 + between {
            charges.miss(tag, page, 0, |_, _| {});
        }
        charges.check();
        let mut charged = Vec::new();
        charges.miss(tag, 0, 0, |one, _| charged.push(one.first));
        // These references do not affect the next one.
        charges.forget(tag, 0, u64::MAX);
        charged.len()
    };
    // With 16 pages made one, 19 between are few enough for 4 entries: three others and the one.
    let charged: Vec<usize> = [3, 4, 16, 18, 19, 500].map(&mut charged_after).to_vec();
    assert_eq!(charged, [0, 1, 1, 1, 0, 0]);
}

/// Removals of newer translations do not bring back a page that no candidate could have kept.
#[test]
fn removals_bring_nothing_back() {
    let tag = Asid::default();
    let ladder = Ladder::new(&[0, 1]).unwrap();
    let charged_with = |between: u64| {
        let mut charges = CapacityCharges::new(ladder, 2);
        for page in [100].into_iter().chain(8..8 + between).chain([0, 1]) {
            charges.miss(tag, page, 0, |_, _| {});
        }
        charges.shoot_down(tag, 8, between);
        charges.check();
        let mut charged = 0;
        charges.miss(tag, 100, 0, |_, _| charged += 1);
        charged
    };
    // 0 and 1 are left, and are charged if nothing else was used.
    assert_eq!([0, 1, 2, 20].map(charged_with), [1, 0, 0, 0]);
}

#[test]
fn what_is_told_last_need_not_be_told() {
    let tag = Asid::default();
    let ladder = Ladder::new(&[0, 1, 2]).unwrap();
    let mut charges = CapacityCharges::new(ladder, 2);
    charges.touch(tag, 9, 0);
    charges.promote(Candidate {
        tag,
        first: 4,
        level: 2,
    });
    charges.touch(tag, 9, 0);
    // Other pages of what was used last, and what is of no concern.
    charges.miss(tag, 5, 2, |_, _| {});
    charges.touch(tag, 6, 2);
    charges.touch(tag, 7, 3);
    charges.miss(tag, 7, 3, |_, _| panic!("it is larger than any"));
    charges.touch(tag, 0, 0);
    charges.touch(tag, 1, 0);
    charges.check();
    let mut charged = Vec::new();
    charges.miss(tag, 9, 0, |one, _| charged.push((one.first, one.level)));
    // 4..8 is one translation; {0, 1} and {0..4} hold two of three.
    assert_eq!(charged, []);
    let mut charges = CapacityCharges::new(ladder, 3);
    for page in [9, 4, 5, 0, 1] {
        charges.miss(tag, page, 0, |_, _| {});
    }
    charges.miss(tag, 9, 0, |one, _| charged.push((one.first, one.level)));
    assert_eq!(charged, []);
}
