//! Batched charges, compared with exact ones.

use super::slow::{HostStep, Mapped, SlowTlb, around, cases, demote, forget};
use broadleaf_charges::{Batching, Candidate, Ladder, PrefetchCharges};
use broadleaf_units::SpaceTag;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Exact and batched charges of the same references.
struct Both {
    exact: PrefetchCharges,
    batched: PrefetchCharges,
    mapped: Mapped,
    tlb: SlowTlb,
}

impl Both {
    fn new(ladder: Ladder, entries: usize, batching: Batching) -> Self {
        Self {
            exact: PrefetchCharges::new(ladder),
            batched: PrefetchCharges::batched(ladder, batching),
            mapped: Mapped::default(),
            tlb: SlowTlb::new(entries),
        }
    }

    fn each(&mut self, report: impl Fn(&mut PrefetchCharges)) {
        report(&mut self.exact);
        report(&mut self.batched);
    }

    /// Makes a reference. Returns the candidates that exact and batched charges report.
    fn refer(&mut self, tag: SpaceTag, page: u64) -> [Vec<(Candidate, u64)>; 2] {
        let ladder = *self.exact.ladder();
        let mut shown = [Vec::new(), Vec::new()];
        if !self.tlb.lookup(&ladder, tag, page) {
            let level = self.mapped.level_of(&ladder, tag, page);
            self.exact
                .miss(tag, page, level, |one, charge| shown[0].push((one, charge)));
            self.batched
                .miss(tag, page, level, |one, charge| shown[1].push((one, charge)));
            if let Some(lost) = self.tlb.fill(around(&ladder, tag, page, level)) {
                self.each(|charges| charges.evict(lost.tag, lost.first, lost.level));
            }
        }
        shown
    }

    fn step(&mut self, step: &HostStep) -> [Vec<(Candidate, u64)>; 2] {
        let ladder = *self.exact.ladder();
        match *step {
            HostStep::Refer(tag, page) => return self.refer(tag, page),
            HostStep::Promote(tag, page, level, relief) => {
                let candidate = around(&ladder, tag, page, level);
                if self.mapped.promote(&ladder, candidate) {
                    self.tlb
                        .shoot_down(&ladder, tag, candidate.first, ladder.pages(level));
                    let lost = self.tlb.fill(candidate);
                    self.each(|charges| {
                        charges.relieve(candidate, relief);
                        charges.promote(candidate);
                        if let Some(lost) = lost {
                            charges.evict(lost.tag, lost.first, lost.level);
                        }
                    });
                }
            }
            HostStep::Map(tag, page, level) => {
                self.mapped
                    .promote(&ladder, around(&ladder, tag, page, level));
            }
            HostStep::Demote(tag, page) => {
                let host = (&mut self.mapped, &mut self.tlb);
                if let Some(candidate) = demote(host, &ladder, tag, page) {
                    self.each(|charges| charges.demote(candidate));
                }
            }
            HostStep::ShootDown(tag, start, pages) => {
                self.tlb.shoot_down(&ladder, tag, start, pages);
                self.each(|charges| charges.shoot_down(tag, start, pages));
            }
            HostStep::Forget(tag, start, pages) => {
                let host = (&mut self.mapped, &mut self.tlb);
                forget(host, &ladder, tag, start, pages);
                self.each(|charges| charges.forget(tag, start, pages));
            }
            HostStep::ForgetSpace(tag) => {
                let host = (&mut self.mapped, &mut self.tlb);
                forget(host, &ladder, tag, 0, u64::MAX);
                self.each(|charges| charges.forget(tag, 0, u64::MAX));
            }
            HostStep::Evict(_) | HostStep::Reset => {}
        }
        [Vec::new(), Vec::new()]
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn none_is_behind_by_as_much_as_may_be_put_off(
        (ladder, steps) in cases(200),
        entries in 1..8usize,
        eager in 0..6usize,
        deferral in 0..30u32,
    ) {
        let mut both = Both::new(ladder, entries, Batching { eager, deferral });
        let mut all = BTreeSet::new();
        for step in &steps {
            let [shown, _] = both.step(step);
            all.extend(shown.into_iter().map(|(candidate, _)| candidate));
            both.batched.check();
            for candidate in &all {
                let exact = both.exact.charge(*candidate);
                let known = both.batched.charge(*candidate);
                prop_assert!(known <= exact, "{candidate:?}");
                let lag = exact - known;
                prop_assert!(lag < u64::from(deferral.max(1)), "{candidate:?} {known} {exact}");
                prop_assert!(lag == 0 || candidate.level > eager.max(1));
            }
        }
    }

    /// A candidate is promoted when it is reported with its threshold or more. Batched charges
    /// promote the same candidates as exact ones, before as many charges of the region as may be
    /// deferred have passed.
    #[test]
    fn promotions_differ_by_no_more_than_what_may_be_put_off(
        (ladder, steps) in cases(400),
        entries in 1..8usize,
        eager in 1..4usize,
        deferral in 1..30u32,
        threshold in 1..20u64,
    ) {
        let mut both = Both::new(ladder, entries, Batching { eager, deferral });
        let region = |candidate: Candidate| {
            (candidate.tag, ladder.first_of(ladder.largest(), candidate.first))
        };
        // The deferred charges of each region, and the number of charges when a candidate was first
        // reported with its threshold.
        let mut charges: BTreeMap<(SpaceTag, u64), u64> = BTreeMap::new();
        let mut promoted = [BTreeMap::new(), BTreeMap::new()];
        for step in &steps {
            let HostStep::Refer(tag, page) = *step else { continue };
            let shown = both.refer(tag, page);
            // Charges of the largest candidate alone are not deferred.
            if let Some((candidate, _)) = shown[0].first() {
                let may_wait = candidate.level < ladder.largest();
                *charges.entry(region(*candidate)).or_default() += u64::from(may_wait);
            }
            for (promoted, shown) in promoted.iter_mut().zip(shown) {
                for (candidate, _) in shown.into_iter().filter(|(_, charge)| *charge >= threshold) {
                    promoted.entry(candidate).or_insert(charges[&region(candidate)]);
                }
            }
        }
        let [exactly, late] = promoted;
        for (candidate, then) in &late {
            let before = exactly.get(candidate);
            prop_assert!(before.is_some_and(|before| before <= then), "{candidate:?}");
        }
        for (candidate, then) in &exactly {
            let until = late.get(candidate).copied().unwrap_or(charges[&region(*candidate)]);
            prop_assert!(until - then < u64::from(deferral), "{candidate:?}");
            prop_assert!(candidate.level > eager || late.get(candidate) == Some(then));
        }
    }
}

/// Romer's ladder, 32 pages in a circle, two for each of 16 entries, and a superpage of 128 KiB at
/// 1600 charges.
#[test]
fn a_superpage_of_128_kib_is_promoted_when_its_charges_fall_due() {
    let ladder = Ladder::new(&Ladder::ROMER).unwrap();
    let (tag, level) = (SpaceTag::default(), 5);
    for (deferral, expected) in [(1600, 1600), (1000, 2000)] {
        let mut both = Both::new(ladder, 16, Batching { eager: 4, deferral });
        let mut promoted = [None, None];
        for reference in 0..4000u64 {
            let shown = both.refer(tag, reference % 32);
            for (promoted, shown) in promoted.iter_mut().zip(shown) {
                let reached =
                    |(one, charge): &(Candidate, u64)| one.level == level && *charge >= 1600;
                if promoted.is_none() && shown.iter().any(reached) {
                    *promoted = Some(reference);
                }
            }
        }
        // Every reference misses, and is charged but for the first, before which nothing was in the
        // TLB.
        assert_eq!(promoted, [Some(1600), Some(expected)]);
    }
}
