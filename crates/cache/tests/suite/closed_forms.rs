//! Misses and cycles that a formula gives.

use crate::common::{access, cache, hierarchy, rule};
use broadleaf_cache::{
    AccessKind, AnsweredBy, CACHES, CacheHierarchy, CacheKind, CacheRequest, HierarchySpec,
    MainMemorySpec,
};

/// The misses of a level, of data of core 0.
fn misses(caches: &CacheHierarchy, level: usize) -> u64 {
    caches.counts().cores[0].levels[level].misses[0]
}

#[test]
fn a_loop_that_fits_misses_once_for_each_line() {
    for kind in CACHES.iter().filter(|kind| kind.movement.is_some()) {
        let mut caches = hierarchy(
            kind.described.name,
            1,
            vec![cache(1, 8, 4), cache(2, 16, 8)],
        );
        for _ in 0..10 {
            for line in 0..32 {
                access(&mut caches, 0, line, AccessKind::Load);
            }
        }
        assert_eq!(misses(&caches, 0), 32);
        assert_eq!(misses(&caches, 1), 32);
        assert_eq!(caches.counts().memory.reads, 32);
        assert_eq!(caches.counts().memory.writes, 0);
    }
}

#[test]
fn a_loop_of_one_line_more_than_lru_holds_always_misses() {
    let mut caches = hierarchy("inclusive", 1, vec![cache(1, 1, 4)]);
    for turn in 0..50_u64 {
        access(&mut caches, 0, turn % 5, AccessKind::Load);
    }
    assert_eq!(misses(&caches, 0), 50);
}

/// Exclusive levels hold the sum of their lines, and inclusive ones as many as the last.
#[test]
fn exclusive_levels_hold_more() {
    for (kind, second_misses) in [("inclusive", 24 * 10), ("exclusive", 24)] {
        let caches = vec![cache(1, 1, 8), cache(2, 1, 16)];
        let mut caches = hierarchy(kind, 1, caches);
        for _ in 0..10 {
            for line in 0..24 {
                access(&mut caches, 0, line, AccessKind::Load);
            }
        }
        assert_eq!(misses(&caches, 1), second_misses, "{kind}");
    }
}

#[test]
fn cycles_are_those_of_all_lookups_on_the_way() {
    let three = vec![cache(1, 1, 1), cache(2, 1, 2), cache(3, 1, 4)];
    let mut caches = hierarchy("inclusive", 1, three);
    let cold = access(&mut caches, 0, 1, AccessKind::Load);
    assert_eq!(
        (cold.by, cold.cycles),
        (AnsweredBy::Memory, 1 + 4 + 9 + 100)
    );
    let hit = access(&mut caches, 0, 1, AccessKind::Load);
    assert_eq!((hit.by, hit.cycles), (AnsweredBy::Level(0), 1));
    access(&mut caches, 0, 2, AccessKind::Load);
    let second = access(&mut caches, 0, 1, AccessKind::Load);
    assert_eq!((second.by, second.cycles), (AnsweredBy::Level(1), 1 + 4));
    access(&mut caches, 0, 2, AccessKind::Load);
    access(&mut caches, 0, 3, AccessKind::Load);
    let third = access(&mut caches, 0, 1, AccessKind::Load);
    assert_eq!((third.by, third.cycles), (AnsweredBy::Level(2), 1 + 4 + 9));
}

#[test]
fn each_modified_line_is_written_once() {
    // In these kinds, lines that are loaded reach the last level.
    for kind in ["non-inclusive", "inclusive", "exclusive"] {
        let mut caches = hierarchy(kind, 1, vec![cache(1, 2, 2), cache(2, 4, 2)]);
        for line in 0..64 {
            access(&mut caches, 0, line, AccessKind::Store);
            access(&mut caches, 0, line, AccessKind::Store);
        }
        // Loads push all of them out.
        for line in 1000..1064 {
            access(&mut caches, 0, line, AccessKind::Load);
        }
        assert_eq!(caches.counts().memory.writes, 64, "{kind}");
    }
}

#[test]
fn a_busy_bank_lets_reads_wait() {
    let memory = MainMemorySpec {
        latency: 100,
        banks: 4,
        bank_cycles: 50,
    };
    let kind = CacheKind::named("inclusive").expect("a kind");
    let spec = HierarchySpec::new(kind, 1, vec![cache(1, 64, 4)], 64, 1, memory);
    let mut caches = CacheHierarchy::new(&spec.expect("a hierarchy")).expect("caches");
    let mut at = |line: u64, time| {
        let request = CacheRequest {
            core: 0,
            address: line * 64,
            kind: AccessKind::Load,
            time,
        };
        caches.access(&request).cycles
    };
    assert_eq!(at(0, 0), 101);
    assert_eq!(at(1, 0), 101, "another bank");
    assert_eq!(at(4, 10), 101 + 40, "the bank is free from 51 on");
    assert_eq!(at(8, 200), 101);
    // The model learns of this access late: it ends at 151, before the one at 201 begins.
    assert_eq!(at(12, 100), 101);
    assert_eq!(
        at(16, 130),
        101 + 20,
        "the gap before 201 is just long enough"
    );
    assert_eq!(at(20, 130), 101 + 120, "there is no other gap before 251");
    assert_eq!(caches.counts().memory.waited, 180);
}

/// Line 0 is used between any two new lines. SRRIP keeps it, and a scan through LRU's four ways
/// takes it out.
#[test]
fn predictions_keep_a_line_through_a_scan() {
    let misses_of = |name: &str| {
        let spec = broadleaf_cache::CacheSpec {
            replacement: rule(name),
            ..cache(1, 1, 4)
        };
        let mut caches = hierarchy("inclusive", 1, vec![spec]);
        for turn in 0..40_u64 {
            access(&mut caches, 0, 0, AccessKind::Load);
            access(&mut caches, 0, 0, AccessKind::Load);
            for line in 0..5 {
                access(&mut caches, 0, 100 + turn * 5 + line, AccessKind::Load);
            }
        }
        misses(&caches, 0)
    };
    assert_eq!(misses_of("lru"), 40 * 6);
    assert!(misses_of("srrip") < 40 * 6);
}

/// A loop of twice the lines that fit: LRU and SRRIP miss each time. The duel finds that most lines
/// should not stay.
#[test]
fn the_duel_of_predictions_keeps_a_part_of_a_loop() {
    let misses_of = |name: &str| {
        let spec = broadleaf_cache::CacheSpec {
            replacement: rule(name),
            ..cache(1, 128, 8)
        };
        let mut caches = hierarchy("inclusive", 1, vec![spec]);
        for _ in 0..40 {
            for line in 0..128 * 16 {
                access(&mut caches, 0, line, AccessKind::Load);
            }
        }
        misses(&caches, 0)
    };
    let all = 40 * 128 * 16;
    assert_eq!(misses_of("lru"), all);
    assert_eq!(misses_of("srrip"), all);
    assert!(misses_of("drrip") < all * 8 / 10, "{}", misses_of("drrip"));
}

#[test]
fn a_store_leaves_no_copy_with_another_core() {
    let mut caches = hierarchy("inclusive", 2, vec![cache(1, 4, 2), cache(2, 16, 4)]);
    access(&mut caches, 0, 7, AccessKind::Load);
    let other = access(&mut caches, 1, 7, AccessKind::Load);
    assert_eq!(other.by, AnsweredBy::Level(1));
    let store = access(&mut caches, 0, 7, AccessKind::Store);
    assert_eq!((store.by, store.cycles), (AnsweredBy::Level(0), 1 + 4));
    let again = access(&mut caches, 0, 7, AccessKind::Store);
    assert_eq!((again.by, again.cycles), (AnsweredBy::Level(0), 1));
    let lost = access(&mut caches, 1, 7, AccessKind::Load);
    assert_eq!(lost.by, AnsweredBy::Level(1));
    let counts = caches.counts();
    assert_eq!(counts.cores[0].upgrades, 1);
    assert_eq!(counts.cores[1].levels[0].invalidated, 1);
    caches.check();
}

#[test]
fn occupancy_follows_the_core_that_loaded_a_line() {
    let mut caches = hierarchy("inclusive", 2, vec![cache(1, 1, 1), cache(2, 1, 8)]);
    for line in 0..8 {
        access(&mut caches, 0, line, AccessKind::Load);
    }
    assert_eq!(caches.counts().occupancy, [8, 0]);
    for line in 100..106 {
        access(&mut caches, 1, line, AccessKind::Load);
    }
    assert_eq!(caches.counts().occupancy, [2, 6]);
    assert_eq!(caches.counts().occupancy_peak, [8, 6]);
}
