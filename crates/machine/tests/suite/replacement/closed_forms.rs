//! Miss ratios that formulas give.

use super::OneSet;
use broadleaf_oracle::random::Rng;

/// Pages that are drawn independently, with these weights.
fn drawn(rng: &mut Rng, weights: &[u64]) -> u64 {
    let mut at = rng.below(weights.iter().sum());
    for (page, weight) in weights.iter().enumerate() {
        if at < *weight {
            return page as u64;
        }
        at -= weight;
    }
    0
}

/// The miss ratio of FIFO and random for independent references (Gelenbe 1973): a set of pages is
/// held with a probability proportional to the product of its pages' weights.
fn gelenbe(weights: &[u64], ways: usize) -> f64 {
    let total: u64 = weights.iter().sum();
    let (mut all, mut missed) = (0.0, 0.0);
    for held in 0..1_u32 << weights.len() {
        if held.count_ones() as usize != ways {
            continue;
        }
        let inside = |page: &usize| held >> page & 1 == 1;
        let pages = (0..weights.len()).filter(inside);
        let shares = pages.map(|page| weights[page] as f64 / total as f64);
        let shares: Vec<f64> = shares.collect();
        let likely: f64 = shares.iter().product();
        all += likely;
        missed += likely * (1.0 - shares.iter().sum::<f64>());
    }
    missed / all
}

#[test]
fn fifo_and_random_miss_alike_on_independent_references() {
    for weights in [
        vec![1; 7],
        vec![8, 5, 3, 2, 1, 1],
        vec![100, 10, 10, 1, 1, 1, 1],
    ] {
        for ways in [2, 4] {
            let wanted = gelenbe(&weights, ways);
            for rule in ["fifo", "random", "round-robin"] {
                let (mut set, mut rng) = (OneSet::new(rule, ways), Rng::new(9));
                let mut misses = 0;
                for step in 0..410_000 {
                    let (missed, _) = set.refer(drawn(&mut rng, &weights));
                    misses += u64::from(missed && step >= 10_000);
                }
                let found = misses as f64 / 400_000.0;
                assert!((found - wanted).abs() < 0.005, "{rule}: {found}, {wanted}");
            }
        }
    }
}

#[test]
fn random_misses_a_chase_of_one_page_too_many_at_two_in_n() {
    // The page that makes room is equally likely to come again after 1 to `ways` references.
    for ways in [2, 3, 4, 7, 16, 64] {
        let string: Vec<u64> = (0..=ways as u64).collect();
        let found = OneSet::new("random", ways).steady(&string, 20_000, 19_000);
        let wanted = 2.0 / (ways + 1) as f64;
        assert!((found / wanted - 1.0).abs() < 0.03, "{found}, {wanted}");
    }
}

#[test]
fn the_miss_ratio_curve_of_random_gives_the_capacity() {
    for ways in [4, 6, 12, 48, 64] {
        let mut capacity = 0;
        for pages in 1..ways as u64 + 4 {
            let string: Vec<u64> = (0..pages).collect();
            // Some rounds pass before the last page finds an entry of its own.
            if OneSet::new("random", ways).steady(&string, 3_000, 500) == 0.0 {
                capacity = pages;
            }
        }
        assert!(capacity.abs_diff(ways as u64) <= 1, "{capacity}, {ways}");
    }
}
