//! The sieve, given visits one by one and by their words.

use super::*;
use broadleaf_trace::Phrased;

fn visit(unit: u64, stores: u32) -> Visit {
    Visit {
        unit,
        loads: 1,
        stores,
        loads_before_store: 1,
        ..Visit::default()
    }
}

/// The visits that are kept, given one by one or by their words.
fn kept(words: &[u16], vocabulary: &[Visit], by_word: bool) -> Vec<(u64, u64)> {
    let mut sieve = Sieve::new(Recency::new([&crate::testing::skylake()]));
    let (mut sifted, mut sums) = (Sifted::default(), Sums::default());
    let phrased = Phrased { vocabulary, words };
    if by_word {
        sieve.sift_phrased(&phrased, 0, &mut sifted, &mut sums);
    } else {
        let visits: Vec<Visit> = phrased.visits().collect();
        sieve.sift(&visits, 0, &mut sifted, &mut sums);
    }
    assert_eq!(sums.loads, words.len() as u64);
    let kept = sifted.kept.iter();
    kept.map(|visit| (visit.page, visit.time)).collect()
}

/// The first store to a block may break its superpage under some policy. Then no page of the
/// block is sure to hit, however the visits are given.
#[test]
fn a_first_store_has_all_pages_of_its_block_looked_up_again() {
    let vocabulary = [visit(3, 0), visit(4, 0), visit(4, 1)];
    for by_word in [false, true] {
        let loads = kept(&[0, 1, 0, 1, 0], &vocabulary, by_word);
        assert_eq!(loads, [(3, 0), (4, 1)], "{by_word}");
        let stored = kept(&[0, 1, 0, 2, 0, 2, 0], &vocabulary, by_word);
        assert!(
            stored.ends_with(&[(4, 3), (3, 5), (4, 6)]),
            "{by_word}: {stored:?}"
        );
    }
}

/// Two pages that share a slot of the table of pages take turns without being kept again.
#[test]
fn pages_that_share_a_slot_are_left_out() {
    // Pages 1 and 512 share one, and lie in different sets.
    let vocabulary = [visit(1, 0), visit(512, 0)];
    let words = [0, 1, 0, 1, 1, 0, 1, 0, 0, 1];
    let kept = kept(&words, &vocabulary, false);
    let own: Vec<_> = kept.iter().map(|(page, _)| *page).collect();
    assert_eq!(own, [1, 512]);
}

/// A renewed sieve keeps the visits that a new one keeps, whatever it saw before.
#[test]
fn a_renewed_sieve_is_as_new() {
    let new = Sieve::new(Recency::new([&crate::testing::skylake()]));
    let mut random = broadleaf_trace::synth::SplitMix64::new(5);
    let mut used = new.clone();
    for _ in 0..200 {
        let visits: Vec<Visit> = (0..40)
            .map(|_| {
                visit(
                    random.below(3) << 9 | random.below(4),
                    random.below(2) as u32,
                )
            })
            .collect();
        let words = random.below(2) == 0;
        let sift = |sieve: &mut Sieve| {
            let (mut sifted, mut sums) = (Sifted::default(), Sums::default());
            if words {
                let words: Vec<u16> = (0..visits.len() as u16).collect();
                let (vocabulary, words) = (&visits[..], &words[..]);
                let phrased = Phrased { vocabulary, words };
                sieve.sift_phrased(&phrased, 0, &mut sifted, &mut sums);
            }
            sieve.sift(&visits, 0, &mut sifted, &mut sums);
            sieve.catch_up(&mut sifted, &sums);
            sifted.kept
        };
        used.renew(&new);
        assert_eq!(sift(&mut used), sift(&mut new.clone()));
    }
}

/// Lookups in place of others are known as such; visits that are kept are not.
#[test]
fn made_up_lookups_are_marked() {
    let mut sieve = Sieve::new(Recency::new([&crate::testing::skylake()]));
    let (mut sifted, mut sums) = (Sifted::default(), Sums::default());
    // Page 1 is deferred, and made up before page 17 enters its set.
    let visits = [1, 33, 1, 17].map(|page| visit(page, 0));
    sieve.sift(&visits, 0, &mut sifted, &mut sums);
    let kept = sifted.kept.iter();
    let kept: Vec<_> = kept.map(|it| (it.page, it.manner.renews())).collect();
    assert_eq!(kept, [(1, false), (33, false), (1, true), (17, false)]);
}

/// If the sieve keeps nearly all visits, it compares none for a while, and forgets all earlier
/// visits.
#[test]
fn what_was_not_looked_at_is_not_known() {
    let mut sieve = Sieve::new(Recency::new([&crate::testing::skylake()]));
    let mut kept = |pages: &[u64]| {
        let visits: Vec<Visit> = pages.iter().map(|page| visit(*page, 0)).collect();
        let (mut sifted, mut sums) = (Sifted::default(), Sums::default());
        sieve.sift(&visits, 0, &mut sifted, &mut sums);
        sieve.catch_up(&mut sifted, &sums);
        sieve.rest(visits.len(), sifted.kept.len());
        sifted.kept.len()
    };
    let far: Vec<u64> = (0..1000).map(|page| page << 9).collect();
    // Pages 1 and 2 are the last of their sets.
    assert_eq!(kept(&[&far[..], &[1, 2]].concat()), 1002);
    for _ in 0..COARSE_STRETCHES {
        assert_eq!(kept(&[1, 2, 1, 2]), 4);
    }
    assert_eq!(kept(&[1, 2, 1, 2, 1, 2]), 2);
    assert_eq!(kept(&[1, 2]), 0);
}

/// A short stretch shows whether close looks pay: the first, and the first after others were not
/// compared.
#[test]
fn only_a_trial_is_short() {
    let mut sieve = Sieve::new(Recency::new([&crate::testing::skylake()]));
    let most = 8 * TRIAL_VISITS;
    assert_eq!(sieve.most_visits(most), TRIAL_VISITS);
    assert_eq!(sieve.most_visits(7), 7);
    sieve.rest(1000, 999);
    for _ in 0..COARSE_STRETCHES {
        assert_eq!(sieve.most_visits(most), most);
        sieve.rest(1000, 1000);
    }
    assert_eq!(sieve.most_visits(most), TRIAL_VISITS);
    sieve.rest(1000, 10);
    assert_eq!(sieve.most_visits(most), most);
}

/// Visits given by their words are not compared either.
#[test]
fn words_are_not_looked_at_either() {
    let mut sieve = Sieve::new(Recency::new([&crate::testing::skylake()]));
    sieve.looks = Looks::Away;
    let vocabulary = [visit(1, 0), visit(2, 1)];
    let words = [0, 1, 0, 1, 0];
    let phrased = Phrased {
        vocabulary: &vocabulary,
        words: &words,
    };
    let (mut sifted, mut sums) = (Sifted::default(), Sums::default());
    for times in [1, 2] {
        sieve.sift_phrased(&phrased, 0, &mut sifted, &mut sums);
        assert_eq!(sifted.kept.len(), times * words.len());
    }
    // No lookup was deferred.
    sieve.catch_up(&mut sifted, &sums);
    assert_eq!(sifted.kept.len(), 2 * words.len());
}

/// A word whose accesses do not fit the packed sums is left out too.
#[test]
fn a_word_of_many_accesses_is_left_out_as_others_are() {
    let many = Visit {
        instructions: u32::MAX,
        ..visit(3, 0)
    };
    let vocabulary = [many, visit(4, 0)];
    let some = kept(&[0, 1, 0, 0, 1, 0], &vocabulary, true);
    assert_eq!(some, [(3, 0), (4, 1)]);
}
