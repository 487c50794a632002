//! OPT on recorded strings: the fewest misses there can be, and no rule has fewer.

use super::{OneSet, one_set};
use broadleaf_oracle::fewest_misses;
use broadleaf_oracle::random::{Rng, loops};
use broadleaf_tlb::{REPLACEMENTS, RuleNeed, Tlb};

/// The next use of each reference.
fn next_uses(pages: &[u64]) -> Vec<u64> {
    let next = |at: usize| {
        let later = pages[at + 1..].iter().position(|page| *page == pages[at]);
        later.map_or(u64::MAX, |later| (at + 1 + later) as u64)
    };
    (0..pages.len()).map(next).collect()
}

fn opt_misses(pages: &[u64], ways: usize) -> u64 {
    let mut set = OneSet::new("opt", ways);
    let mut misses = 0;
    for (page, next) in pages.iter().zip(next_uses(pages)) {
        set.tlb.foresee(next);
        misses += u64::from(set.refer(*page).0);
    }
    misses
}

fn string(rng: &mut Rng, pages: u64, length: usize) -> Vec<u64> {
    let references = loops(rng, 1, pages, length).0;
    references.into_iter().map(|(_, page)| page).collect()
}

#[test]
fn opt_has_the_fewest_misses_of_all_choices() {
    let mut rng = Rng::new(1);
    for case in 0..400 {
        let (ways, pages) = (1 + rng.below(4) as usize, 2 + rng.below(6));
        let string = match case % 2 {
            0 => string(&mut rng, pages, 30),
            _ => (0..30).map(|_| rng.below(pages)).collect(),
        };
        let (found, wanted) = (opt_misses(&string, ways), fewest_misses(&string, ways));
        assert_eq!(found, wanted, "{ways} ways, {string:?}");
    }
}

#[test]
fn no_rule_has_fewer_misses_than_opt() {
    let mut rng = Rng::new(2);
    let mut beaten = 0;
    for _ in 0..100 {
        let string = string(&mut rng, 24, 600);
        for ways in [3, 4, 6, 8] {
            let least = opt_misses(&string, ways);
            for rule in REPLACEMENTS {
                let cannot = (rule.refuses)(ways).is_some();
                if cannot || rule.needs.contains(&RuleNeed::Future) {
                    continue;
                }
                let machine = one_set(rule.described.name, ways, "").expect("a machine");
                let tlb = Tlb::new(&machine.design);
                let mut set = OneSet { tlb };
                let misses = string.iter().filter(|page| set.refer(**page).0).count() as u64;
                assert!(misses >= least, "{rule:?}, {ways} ways: {misses}, {least}");
                beaten += u64::from(misses > least);
            }
        }
    }
    assert!(beaten > 3_000, "{beaten}");
}

#[test]
fn a_cycle_of_one_page_too_many() {
    // Each miss after the first round keeps the longest possible prefix: one miss in `ways`.
    for ways in [2, 4, 8] {
        let string: Vec<u64> = (0..100 * ways as u64)
            .map(|step| step % (ways as u64 + 1))
            .collect();
        let cold = ways as u64;
        let rest = string.len() as u64 - cold;
        let wanted = cold + rest.div_ceil(ways as u64);
        assert_eq!(opt_misses(&string, ways), wanted, "{ways}");
    }
}
