//! The permutation vectors and sequences that TLB;DR (Tatar and others 2022) measured on Intel
//! processors.

use super::OneSet;

/// The vector of a hit in element `touched` of a set: the elements in the order in which misses
/// evict them, the last first. Element 0 is the page that was used last before the hit.
fn vector(rule: &str, ways: usize, touched: usize) -> Vec<usize> {
    let pages = ways as u64;
    let mut set = OneSet::new(rule, ways);
    // A known state: three rounds of misses, of which the last brings the elements.
    set.refer_all(0..3 * pages);
    let element = |page: u64| (3 * pages - 1 - page) as usize;
    set.refer(3 * pages - 1 - touched as u64);
    let mut evicted = set.refer_all(1000..1000 + pages);
    evicted.reverse();
    evicted.into_iter().map(element).collect()
}

fn check(rule: &str, published: &[&[usize]]) {
    for (touched, wanted) in published.iter().enumerate() {
        let found = vector(rule, published.len(), touched);
        assert_eq!(found, *wanted, "{rule}, vector {touched}");
    }
}

#[test]
fn trees_of_four_and_eight_ways() {
    check(
        "tree-plru",
        &[&[0, 1, 2, 3], &[1, 0, 3, 2], &[2, 1, 0, 3], &[3, 0, 1, 2]],
    );
    check(
        "tree-plru",
        &[
            &[0, 1, 2, 3, 4, 5, 6, 7],
            &[1, 0, 3, 2, 5, 4, 7, 6],
            &[2, 1, 0, 3, 6, 5, 4, 7],
            &[3, 0, 1, 2, 7, 4, 5, 6],
            &[4, 1, 2, 3, 0, 5, 6, 7],
            &[5, 0, 3, 2, 1, 4, 7, 6],
            &[6, 1, 0, 3, 2, 5, 4, 7],
            &[7, 0, 1, 2, 3, 4, 5, 6],
        ],
    );
}

#[test]
fn trees_of_sixteen_ways() {
    check(
        "tree-plru",
        &[
            &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
            &[1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14],
            &[2, 1, 0, 3, 6, 5, 4, 7, 10, 9, 8, 11, 14, 13, 12, 15],
            &[3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14],
            &[4, 1, 2, 3, 0, 5, 6, 7, 12, 9, 10, 11, 8, 13, 14, 15],
            &[5, 0, 3, 2, 1, 4, 7, 6, 13, 8, 11, 10, 9, 12, 15, 14],
            &[6, 1, 0, 3, 2, 5, 4, 7, 14, 9, 8, 11, 10, 13, 12, 15],
            &[7, 0, 1, 2, 3, 4, 5, 6, 15, 8, 9, 10, 11, 12, 13, 14],
            &[8, 1, 2, 3, 4, 5, 6, 7, 0, 9, 10, 11, 12, 13, 14, 15],
            &[9, 0, 3, 2, 5, 4, 7, 6, 1, 8, 11, 10, 13, 12, 15, 14],
            &[10, 1, 0, 3, 6, 5, 4, 7, 2, 9, 8, 11, 14, 13, 12, 15],
            &[11, 0, 1, 2, 7, 4, 5, 6, 3, 8, 9, 10, 15, 12, 13, 14],
            &[12, 1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15],
            &[13, 0, 3, 2, 1, 4, 7, 6, 5, 8, 11, 10, 9, 12, 15, 14],
            &[14, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15],
            &[15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14],
        ],
    );
}

#[test]
fn both_rules_of_twelve_ways() {
    check(
        "mru3-plru",
        &[
            &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
            &[1, 2, 0, 4, 5, 3, 7, 8, 6, 10, 11, 9],
            &[2, 0, 1, 5, 3, 4, 8, 6, 7, 11, 9, 10],
            &[3, 1, 2, 0, 4, 5, 9, 7, 8, 6, 10, 11],
            &[4, 2, 0, 1, 5, 3, 10, 8, 6, 7, 11, 9],
            &[5, 0, 1, 2, 3, 4, 11, 6, 7, 8, 9, 10],
            &[6, 1, 2, 3, 4, 5, 0, 7, 8, 9, 10, 11],
            &[7, 2, 0, 4, 5, 3, 1, 8, 6, 10, 11, 9],
            &[8, 0, 1, 5, 3, 4, 2, 6, 7, 11, 9, 10],
            &[9, 1, 2, 0, 4, 5, 3, 7, 8, 6, 10, 11],
            &[10, 2, 0, 1, 5, 3, 4, 8, 6, 7, 11, 9],
            &[11, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
        ],
    );
    check(
        "lru3-plru",
        &[
            &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
            &[1, 0, 2, 4, 3, 5, 7, 6, 8, 10, 9, 11],
            &[2, 0, 1, 5, 3, 4, 8, 6, 7, 11, 9, 10],
            &[3, 1, 2, 0, 4, 5, 9, 7, 8, 6, 10, 11],
            &[4, 0, 2, 1, 3, 5, 10, 6, 8, 7, 9, 11],
            &[5, 0, 1, 2, 3, 4, 11, 6, 7, 8, 9, 10],
            &[6, 1, 2, 3, 4, 5, 0, 7, 8, 9, 10, 11],
            &[7, 0, 2, 4, 3, 5, 1, 6, 8, 10, 9, 11],
            &[8, 0, 1, 5, 3, 4, 2, 6, 7, 11, 9, 10],
            &[9, 1, 2, 0, 4, 5, 3, 7, 8, 6, 10, 11],
            &[10, 0, 2, 1, 3, 5, 4, 6, 8, 7, 9, 11],
            &[11, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
        ],
    );
}

#[test]
fn the_short_sequence_evicts_page_0_and_the_long_one_never_does() {
    let from_misses = |pages: &[u64]| {
        let mut set = OneSet::new("tree-plru", 4);
        set.refer_all(100..108);
        set.refer_all(pages.iter().copied())
    };
    assert!(from_misses(&[0, 1, 2, 1, 3]).contains(&0));
    let long = (4..40).flat_map(|page| [2, page]);
    let long: Vec<u64> = [0, 1, 2, 3].into_iter().chain(long).collect();
    assert!(!from_misses(&long).contains(&0));
    // LRU keeps and evicts the other way round.
    let from_misses = |pages: &[u64]| {
        let mut set = OneSet::new("lru", 4);
        set.refer_all(100..108);
        set.refer_all(pages.iter().copied())
    };
    assert!(!from_misses(&[0, 1, 2, 1, 3]).contains(&0));
    assert!(from_misses(&long).contains(&0));
}
