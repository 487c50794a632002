//! Prefetch charges against a scan of the TLB's content.

use super::slow::{
    HostStep, Mapped, SlowTlb, around, cases, demote, forget, lies_in, meets, overlap,
};
use broadleaf_charges::{Candidate, Ladder, PrefetchCharges};
use broadleaf_units::SpaceTag;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A host, and the charges of each candidate by a scan.
struct Scanning {
    ladder: Ladder,
    mapped: Mapped,
    tlb: SlowTlb,
    charges: BTreeMap<Candidate, u64>,
}

impl Scanning {
    fn new(ladder: Ladder, entries: usize) -> Self {
        let (mapped, charges) = (Mapped::default(), BTreeMap::new());
        let tlb = SlowTlb::new(entries);
        Self {
            ladder,
            mapped,
            tlb,
            charges,
        }
    }

    /// Returns true if the translation of the candidate or of a part is in the TLB.
    fn is_present(&self, candidate: Candidate) -> bool {
        let mut entries = self.tlb.entries.iter();
        entries
            .any(|entry| entry.level <= candidate.level && overlap(&self.ladder, *entry, candidate))
    }

    /// The number of children with a page in the TLB, plus one for the candidate's own translation.
    fn count(&self, candidate: Candidate) -> u32 {
        let Candidate { tag, first, level } = candidate;
        let own = u32::from(self.tlb.entries.contains(&candidate));
        let Some(below) = level.checked_sub(1) else {
            return own;
        };
        let pages = first..=first + (self.ladder.pages(level) - 1);
        let children = pages.step_by(self.ladder.pages(below) as usize);
        let present =
            children.filter(|child| self.is_present(around(&self.ladder, tag, *child, below)));
        own + present.count() as u32
    }

    /// The candidates that a miss is charged to, smallest first.
    fn miss(&mut self, tag: SpaceTag, page: u64, level: usize) -> Vec<(Candidate, u64)> {
        let mut charged = Vec::new();
        for above in level + 1..=self.ladder.largest() {
            let candidate = around(&self.ladder, tag, page, above);
            if self.is_present(candidate) {
                let charge = self.charges.entry(candidate).or_default();
                *charge += 1;
                charged.push((candidate, *charge));
            }
        }
        charged
    }

    /// Does a step, and has the charges do it.
    fn step(&mut self, step: &HostStep, charges: &mut PrefetchCharges) {
        let ladder = self.ladder;
        match *step {
            HostStep::Refer(tag, page) => {
                if self.tlb.lookup(&ladder, tag, page) {
                    return;
                }
                let level = self.mapped.level_of(&ladder, tag, page);
                let slowly = self.miss(tag, page, level);
                let mut charged = Vec::new();
                charges.miss(tag, page, level, |candidate, charge| {
                    charged.push((candidate, charge))
                });
                assert_eq!(charged, slowly, "page {page} at level {level}");
                if let Some(lost) = self.tlb.fill(around(&ladder, tag, page, level)) {
                    charges.evict(
                        lost.tag,
                        lost.first + (ladder.pages(lost.level) - 1),
                        lost.level,
                    );
                }
            }
            HostStep::Promote(tag, page, level, relief) => {
                let candidate = around(&ladder, tag, page, level);
                if !self.mapped.promote(&ladder, candidate) {
                    return;
                }
                for above in level + 1..=ladder.largest() {
                    if let Some(charge) = self.charges.get_mut(&around(&ladder, tag, page, above)) {
                        *charge = charge.saturating_sub(relief);
                    }
                }
                charges.relieve(candidate, relief);
                let pages = ladder.pages(level);
                self.charges
                    .retain(|one, _| !lies_in(&ladder, *one, tag, candidate.first, pages));
                self.tlb.shoot_down(&ladder, tag, candidate.first, pages);
                charges.promote(candidate);
                if let Some(lost) = self.tlb.fill(candidate) {
                    charges.evict(lost.tag, lost.first, lost.level);
                }
            }
            HostStep::Map(tag, page, level) => {
                self.mapped
                    .promote(&ladder, around(&ladder, tag, page, level));
            }
            HostStep::Demote(tag, page) => {
                let host = (&mut self.mapped, &mut self.tlb);
                if let Some(candidate) = demote(host, &ladder, tag, page) {
                    charges.demote(candidate);
                }
            }
            HostStep::Evict(index) => {
                if !self.tlb.entries.is_empty() {
                    let lost = index.index(self.tlb.entries.len());
                    let lost = self.tlb.entries.remove(lost);
                    charges.evict(lost.tag, lost.first, lost.level);
                    charges.evict(lost.tag, lost.first, lost.level);
                }
            }
            HostStep::ShootDown(tag, start, pages) => {
                self.tlb.shoot_down(&ladder, tag, start, pages);
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
            HostStep::Reset => {}
        }
    }

    fn forget(&mut self, tag: SpaceTag, start: u64, pages: u64) {
        let ladder = self.ladder;
        let host = (&mut self.mapped, &mut self.tlb);
        forget(host, &ladder, tag, start, pages);
        (self.charges).retain(|one, _| !lies_in(&ladder, *one, tag, start, pages));
    }

    fn compare(&self, charges: &PrefetchCharges, tag: SpaceTag, page: u64) {
        for level in 0..=self.ladder.largest() {
            let candidate = around(&self.ladder, tag, page, level);
            let charge = self.charges.get(&candidate).copied();
            assert_eq!(
                charges.charge(candidate),
                charge.unwrap_or(0),
                "{candidate:?}"
            );
            assert_eq!(
                charges.tlb_count(candidate),
                self.count(candidate),
                "{candidate:?}"
            );
        }
    }
}

fn place(step: &HostStep) -> Option<(SpaceTag, u64)> {
    match *step {
        HostStep::Refer(tag, page)
        | HostStep::Promote(tag, page, ..)
        | HostStep::Map(tag, page, _)
        | HostStep::Demote(tag, page)
        | HostStep::ShootDown(tag, page, _)
        | HostStep::Forget(tag, page, _) => Some((tag, page)),
        HostStep::Evict(_) | HostStep::ForgetSpace(_) | HostStep::Reset => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn as_a_scan_charges((ladder, steps) in cases(120), entries in 1..8usize) {
        let mut slow = Scanning::new(ladder, entries);
        let mut charges = PrefetchCharges::new(ladder);
        for step in &steps {
            slow.step(step, &mut charges);
            charges.check();
            if let Some((tag, page)) = place(step) {
                slow.compare(&charges, tag, page);
            }
        }
        for (tag, page) in steps.iter().filter_map(place) {
            slow.compare(&charges, tag, page);
        }
        for candidate in slow.charges.keys() {
            slow.compare(&charges, candidate.tag, candidate.first);
        }
    }
}

#[test]
fn what_is_not_on_the_ladder_is_of_no_concern() {
    let tag = SpaceTag::default();
    let ladder = Ladder::new(&[0, 2]).unwrap();
    let mut charges = PrefetchCharges::new(ladder);
    charges.load(tag, 5, 0);
    let large = Candidate {
        tag,
        first: 0,
        level: 2,
    };
    charges.promote(large);
    charges.miss(tag, 5, 2, |_, _| panic!("there are none above"));
    charges.evict(tag, 5, 2);
    charges.demote(large);
    charges.relieve(large, 1);
    charges.evict(tag, 5, 7);
    charges.check();
    let held = around(&ladder, tag, 5, 1);
    assert_eq!((charges.tlb_count(held), charges.charge(held)), (1, 0));
    assert_eq!((charges.tlb_count(large), charges.charge(large)), (0, 0));
    assert!(meets(&ladder, held, tag, 7, 1) && !meets(&ladder, held, tag, 8, 1));
}

#[test]
fn promotion_and_demotion_count_as_appendix_a_has_it() {
    let tag = SpaceTag::default();
    let ladder = Ladder::new(&[0, 1, 2]).unwrap();
    let mut charges = PrefetchCharges::new(ladder);
    for page in 0..4 {
        charges.miss(tag, page, 0, |_, _| {});
    }
    let one = |first, level| Candidate { tag, first, level };
    assert_eq!(charges.tlb_count(one(0, 1)), 2);
    assert_eq!(
        (charges.charge(one(0, 1)), charges.charge(one(0, 2))),
        (1, 3)
    );
    charges.relieve(one(0, 1), charges.charge(one(0, 1)));
    charges.promote(one(0, 1));
    assert_eq!(
        (charges.tlb_count(one(0, 1)), charges.tlb_count(one(1, 0))),
        (1, 0)
    );
    assert_eq!(
        (charges.charge(one(0, 1)), charges.charge(one(0, 2))),
        (0, 2)
    );
    assert_eq!(charges.tlb_count(one(0, 2)), 2);
    // A miss to the superpage charges what is larger than it, and nothing in it.
    charges.evict(tag, 0, 1);
    let mut charged = Vec::new();
    charges.miss(tag, 1, 1, |candidate, charge| {
        charged.push((candidate, charge))
    });
    assert_eq!(charged, [(one(0, 2), 3)]);
    charges.demote(one(0, 1));
    assert_eq!(
        (charges.tlb_count(one(0, 1)), charges.tlb_count(one(0, 2))),
        (0, 1)
    );
}

#[test]
fn what_outlives_a_promotion_counts() {
    let tag = SpaceTag::default();
    let ladder = Ladder::new(&[0, 1, 2]).unwrap();
    let mut charges = PrefetchCharges::new(ladder);
    let one = |first, level| Candidate { tag, first, level };
    charges.load(tag, 0, 0);
    charges.load(tag, 0, 1);
    assert_eq!(
        (charges.tlb_count(one(0, 1)), charges.tlb_count(one(0, 2))),
        (2, 1)
    );
    // The superpage's own translation goes, and that of its first page stays.
    charges.evict(tag, 1, 1);
    charges.check();
    assert_eq!(
        (charges.tlb_count(one(0, 1)), charges.tlb_count(one(0, 2))),
        (1, 1)
    );
    charges.evict(tag, 0, 0);
    assert_eq!(
        (charges.tlb_count(one(0, 1)), charges.tlb_count(one(0, 2))),
        (0, 0)
    );
}
