//! Descriptions of hierarchies that are refused, and the part that each refusal names.

use crate::common::{MEMORY, cache, rule};
use broadleaf_cache::{CacheField, CacheKind, CacheSpec, HierarchySpec, MainMemorySpec};

fn refused(cores: usize, caches: Vec<CacheSpec>) -> CacheField {
    let kind = CacheKind::named("inclusive").expect("a kind");
    let spec = HierarchySpec::new(kind, cores, caches, 64, 1, MEMORY);
    spec.expect_err("a wrong hierarchy").field
}

#[test]
fn wrong_caches_are_refused() {
    let odd = CacheSpec {
        bytes: 3 * 64 * 4,
        ..cache(1, 4, 4)
    };
    assert_eq!(refused(1, vec![odd]), CacheField::Bytes(0));
    assert_eq!(refused(1, vec![cache(1, 4, 0)]), CacheField::Ways(0));
    assert_eq!(refused(1, vec![cache(1, 4, 128)]), CacheField::Ways(0));
    assert_eq!(refused(1, vec![cache(4, 4, 4)]), CacheField::Level(0));
    let late = CacheSpec {
        latency: 0,
        ..cache(1, 4, 4)
    };
    assert_eq!(refused(1, vec![late]), CacheField::Latency(0));
    let duel = CacheSpec {
        replacement: rule("drrip"),
        ..cache(1, 1, 4)
    };
    assert_eq!(refused(1, vec![duel]), CacheField::Replacement(0));
    let tree = CacheSpec {
        replacement: rule("tree-plru"),
        ..cache(1, 4, 12)
    };
    assert_eq!(refused(1, vec![tree]), CacheField::Replacement(0));
}

#[test]
fn wrong_levels_are_refused() {
    assert_eq!(refused(1, Vec::new()), CacheField::Kind);
    assert_eq!(refused(1, vec![cache(2, 4, 4)]), CacheField::Level(0));
    let twice = vec![cache(1, 4, 4), cache(1, 4, 4)];
    assert_eq!(refused(1, twice), CacheField::Serves(1));
    let only = |instructions, level| CacheSpec {
        instructions: Some(instructions),
        ..cache(level, 4, 4)
    };
    assert_eq!(refused(1, vec![only(false, 1)]), CacheField::Serves(0));
    let second = vec![cache(1, 4, 4), only(false, 2), only(true, 2)];
    assert_eq!(refused(1, second), CacheField::Serves(1));
    assert_eq!(refused(2, vec![cache(1, 4, 4)]), CacheField::Cores);
    assert_eq!(refused(0, vec![cache(1, 4, 4)]), CacheField::Cores);
    assert_eq!(
        refused(17, vec![cache(1, 4, 4), cache(2, 4, 8)]),
        CacheField::Cores
    );
}

#[test]
fn wrong_memory_is_refused() {
    let refused = |kind: &str, line, walks, memory| {
        let kind = CacheKind::named(kind).expect("a kind");
        let spec = HierarchySpec::new(kind, 1, vec![cache(1, 4, 4)], line, walks, memory);
        spec.expect_err("a wrong hierarchy").field
    };
    assert_eq!(refused("none", 64, 1, MEMORY), CacheField::Kind);
    assert_eq!(refused("inclusive", 32, 1, MEMORY), CacheField::Line);
    assert_eq!(refused("inclusive", 64, 2, MEMORY), CacheField::Walks);
    let banks = |banks, bank_cycles| MainMemorySpec {
        banks,
        bank_cycles,
        ..MEMORY
    };
    assert_eq!(
        refused("inclusive", 64, 1, banks(64, 0)),
        CacheField::BankCycles
    );
    assert_eq!(
        refused("inclusive", 64, 1, banks(0, 5)),
        CacheField::BankCycles
    );
    let fast = MainMemorySpec {
        latency: 0,
        ..MEMORY
    };
    assert_eq!(refused("inclusive", 64, 1, fast), CacheField::MemoryLatency);
}
