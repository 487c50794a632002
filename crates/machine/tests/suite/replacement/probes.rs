//! Directed probes from an empty set: the second table of `machines.md`, section 2.

use super::OneSet;
use broadleaf_tlb::{REPLACEMENTS, RuleNeed};
use std::collections::BTreeMap;

/// A page that comes after those that fill the set.
const fn new(number: u64) -> u64 {
    100 + number
}

/// The pages that each of the four probes evicts from a set. `ways` is the size of the set.
fn evicted(rule: &str, ways: usize) -> [Vec<u64>; 4] {
    let pages = ways as u64;
    let filled = || {
        let mut set = OneSet::new(rule, ways);
        assert_eq!(set.refer_all(0..pages), [], "{rule}");
        set
    };
    [
        filled().refer_all([0, new(0)]),
        filled().refer_all((0..pages).rev().chain([new(0)])),
        filled().refer_all([new(0), 1, new(1)]),
        filled().refer_all([new(0), new(1), 2, new(2), new(3)]),
    ]
}

#[test]
fn the_page_that_makes_room() {
    // The last probe is given for 4 ways only, and for LRU, GODS and clock only.
    let rows: [(&str, usize, [&[u64]; 3]); 13] = [
        ("lru", 4, [&[1], &[3], &[0, 2]]),
        ("lru", 8, [&[1], &[7], &[0, 2]]),
        ("fifo", 4, [&[0], &[0], &[0, 1]]),
        ("fifo", 8, [&[0], &[0], &[0, 1]]),
        ("bit-plru", 4, [&[1], &[1], &[0, 2]]),
        ("bit-plru", 8, [&[1], &[1], &[0, 2]]),
        ("gods", 4, [&[0], &[0], &[0, 2]]),
        ("gods", 8, [&[0], &[0], &[0, 2]]),
        ("clock", 4, [&[0], &[0], &[0, 2]]),
        ("clock", 8, [&[0], &[0], &[0, 2]]),
        ("tree-plru", 4, [&[2], &[3], &[0, 2]]),
        ("tree-plru", 8, [&[4], &[7], &[0, 4]]),
        ("mru3-plru", 6, [&[2], &[3], &[0, 2]]),
    ];
    for (rule, ways, wanted) in rows {
        let found = evicted(rule, ways);
        let found: Vec<&[u64]> = found[..3].iter().map(Vec::as_slice).collect();
        assert_eq!(found, wanted, "{rule}, {ways} ways");
    }
}

#[test]
fn gods_and_clock_differ_after_a_hit_behind_the_hand() {
    let last = |rule| evicted(rule, 4)[3].last().copied();
    assert_eq!(last("gods"), Some(new(0)));
    assert_eq!(last("lru"), Some(new(0)));
    assert_eq!(last("clock"), Some(2));
}

#[test]
fn chases_and_probes_distinguish_the_rules() {
    // Any two of the rules differ in a chase or in a probe. FIFO and round robin differ only if
    // translations are dropped, and a rule that knows the future cannot be probed.
    let mut known: BTreeMap<String, &str> = BTreeMap::new();
    for rule in REPLACEMENTS {
        let name = rule.described.name;
        let is_probed = !rule.needs.contains(&RuleNeed::Future) && (rule.refuses)(4).is_none();
        if !is_probed || ["round-robin", "random"].contains(&name) {
            continue;
        }
        let hot: Vec<u64> = (1..=4).flat_map(|page| [0, page]).collect();
        let ratios = [(0..5).collect(), hot].map(|string: Vec<u64>| {
            let ratio = OneSet::new(name, 4).steady(&string, 840, 420);
            (ratio * 1000.0).round() as u64
        });
        let answer = format!("{ratios:?}, {:?}", evicted(name, 4));
        if let Some(other) = known.insert(answer, name) {
            panic!("{name} and {other} answer alike");
        }
    }
    for name in ["lru", "bit-plru", "gods", "clock", "tree-plru", "fifo"] {
        assert!(known.values().any(|known| *known == name), "{name}");
    }
    // Random alone misses sometimes, and never twice alike.
    let mut seen: Vec<Vec<u64>> = Vec::new();
    for seed in 0..3_u64 {
        let machine = super::one_set("random", 4, &format!("seed = {seed}")).expect("a machine");
        let tlb = broadleaf_tlb::Tlb::new(&machine.design);
        seen.push(OneSet { tlb }.refer_all((0..400).map(|step| step % 5)));
    }
    assert!(seen[0] != seen[1] && seen[1] != seen[2] && seen[0] != seen[2]);
}

#[test]
fn round_robin_differs_from_fifo_after_a_drop() {
    use broadleaf_units::{Asid, PageNumber, PageSize};
    let last = |rule| {
        let mut set = OneSet::new(rule, 4);
        set.refer_all(0..4);
        let dropped = PageNumber(2);
        set.tlb.invalidate(Asid::ZERO, dropped, PageSize::SIZE_4K);
        set.refer_all([new(0)])
    };
    assert_eq!(last("fifo"), []);
    assert_eq!(last("round-robin"), [0]);
    assert_eq!(last("not-last-used"), [0]);
}

#[test]
fn not_last_used_passes_the_last_used_entry() {
    // The pointer is at entry 0 after a round of fills.
    let probe = |used: &[u64]| {
        let mut set = OneSet::new("not-last-used", 4);
        set.refer_all(0..4);
        set.refer_all(used.iter().copied().chain([new(0)]))
    };
    assert_eq!(probe(&[]), [0]);
    assert_eq!(probe(&[0]), [1]);
    assert_eq!(probe(&[0, 1]), [2]);
    assert_eq!(probe(&[1, 0]), [1]);
    assert_eq!(probe(&[3, 2]), [0]);
}

#[test]
fn lfu_counts_uses_and_srrip_predicts() {
    let mut set = OneSet::new("lfu", 4);
    assert_eq!(
        set.refer_all([0, 0, 0, 1, 1, 2, 3, 3, new(0), new(1)]),
        [2, new(0)]
    );
    // Loads are predicted far and hits near: pages that are used once leave before those that were
    // hit.
    let mut set = OneSet::new("srrip", 4);
    assert_eq!(
        set.refer_all([0, 0, 1, 1, 2, 3, 10, 11, 12, 13]),
        [2, 3, 10, 11]
    );
    let one_bit = super::one_set("srrip", 4, "bits = 1").expect("a machine");
    let tlb = broadleaf_tlb::Tlb::new(&one_bit.design);
    assert_eq!(
        OneSet { tlb }.refer_all([0, 0, 1, 1, 2, 3, 10, 11, 12]),
        [0, 1, 2]
    );
}
