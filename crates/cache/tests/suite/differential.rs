//! Every kind of hierarchy and every replacement rule against slow ones, on random accesses.

use broadleaf_cache::{
    AccessKind, AnsweredBy, CACHES, CacheHierarchy, CacheKind, CacheRequest, CacheSpec,
    HierarchySpec, LINE_REPLACEMENTS, LineReplacementChoice, MainMemorySpec,
};
use broadleaf_oracle::caches::{
    LineRuleSpec, OracleAccess, OracleCacheSpec, OracleCaches, OracleCachesSpec, OracleMovement,
    OracleSource,
};
use proptest::prelude::*;

/// One cache: sets as a power of two, the place of the ways in [`WAYS`], and the rule's number in
/// the catalogue.
type DrawnCache = (u32, usize, usize);

/// Sets of some lengths have code of their own.
const WAYS: [usize; 9] = [1, 2, 3, 4, 8, 12, 16, 17, 32];

/// A drawn hierarchy.
#[derive(Clone, Debug)]
struct Drawn {
    kind: usize,
    cores: usize,
    levels: Vec<DrawnCache>,
    first_of_instructions: Option<DrawnCache>,
    walk_level: usize,
    banks: usize,
    accesses: Vec<(usize, u64, u8, u64)>,
}

/// The kinds that the oracle knows.
fn kinds() -> Vec<&'static CacheKind> {
    let kinds = CACHES.iter().copied();
    kinds.filter(|kind| movement(kind).is_some()).collect()
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let cache = || (0..4_u32, 0..WAYS.len(), 0..LINE_REPLACEMENTS.len());
    let accesses = prop::collection::vec((0..4_usize, 0..96_u64, 0..8_u8, 0..30_u64), 1..1500);
    (
        0..kinds().len(),
        1..5_usize,
        prop::collection::vec(cache(), 1..4),
        prop::option::of(cache()),
        0..3_usize,
        0..4_usize,
        accesses,
    )
        .prop_map(
            |(kind, cores, levels, first_of_instructions, walk, banks, accesses)| Drawn {
                kind,
                cores: if levels.len() == 1 { 1 } else { cores },
                walk_level: walk % levels.len(),
                levels,
                first_of_instructions,
                banks,
                accesses,
            },
        )
}

/// The cache of both models. A rule that the shape cannot have, or that the oracle does not know,
/// gives way to LRU.
fn both(
    (sets, ways, rule): DrawnCache,
    level: usize,
    instructions: Option<bool>,
) -> (CacheSpec, OracleCacheSpec) {
    let (sets, ways) = (1_usize << sets, WAYS[ways]);
    let rule = LINE_REPLACEMENTS[rule];
    let rule = match (rule.refuses)(sets, ways) {
        Some(_) => broadleaf_cache::LineReplacement::lru(),
        None => LineReplacementChoice::from(rule),
    };
    let value = rule.values().first().and_then(|value| value.number());
    let (rule, slow) = match LineRuleSpec::named(rule.entry().described.name, value) {
        Some(slow) => (rule, slow),
        None => (broadleaf_cache::LineReplacement::lru(), LineRuleSpec::Lru),
    };
    let latency = (level * level) as u64;
    let spec = CacheSpec {
        name: format!("L{level}"),
        level,
        instructions,
        bytes: (sets * ways * 64) as u64,
        ways,
        latency,
        replacement: rule,
        prefetch: None,
    };
    let oracle = OracleCacheSpec {
        sets,
        ways,
        cycles: latency,
        rule: slow,
    };
    (spec, oracle)
}

/// The movement of the oracle. `None` for kinds that it does not know.
fn movement(kind: &CacheKind) -> Option<OracleMovement> {
    match kind.described.name {
        "non-inclusive" => Some(OracleMovement::NonInclusive),
        "inclusive" => Some(OracleMovement::Inclusive),
        "exclusive" => Some(OracleMovement::Exclusive),
        _ => None,
    }
}

fn compare(drawn: &Drawn) {
    let kind = kinds()[drawn.kind];
    let (mut caches, mut levels) = (Vec::new(), Vec::new());
    let is_split = drawn.first_of_instructions.is_some();
    for (number, level) in drawn.levels.iter().enumerate() {
        let only = (is_split && number == 0).then_some(false);
        let (spec, oracle) = both(*level, number + 1, only);
        caches.push(spec);
        levels.push(oracle);
    }
    let first = drawn.first_of_instructions.map(|cache| {
        let (spec, oracle) = both(cache, 1, Some(true));
        caches.push(spec);
        oracle
    });
    let memory = MainMemorySpec {
        latency: 100,
        banks: drawn.banks,
        bank_cycles: if drawn.banks > 0 { 40 } else { 0 },
    };
    let walk_level = drawn.walk_level;
    let spec = HierarchySpec::new(kind, drawn.cores, caches, 64, walk_level + 1, memory);
    let mut ours = CacheHierarchy::new(&spec.expect("a hierarchy")).expect("caches");
    let mut slow = OracleCaches::new(OracleCachesSpec {
        movement: movement(kind).expect("a drawn kind is known"),
        cores: drawn.cores,
        first_of_instructions: first,
        levels,
        walk_level,
        memory_cycles: 100,
        banks: (drawn.banks as u64, memory.bank_cycles),
    });
    let mut time = 0;
    for (core, line, which, later) in &drawn.accesses {
        let core = core % drawn.cores;
        time += later;
        // Programs do not reach page tables: walks have lines of their own.
        let (kind, slow_kind, line) = match which {
            0..=2 => (AccessKind::Load, OracleAccess::Load, *line),
            3..=5 => (AccessKind::Store, OracleAccess::Store, *line),
            6 => (AccessKind::Fetch, OracleAccess::Fetch, *line),
            _ => (AccessKind::Walk, OracleAccess::Walk, *line + 0x1000),
        };
        let request = CacheRequest {
            core,
            address: line * 64 + 8,
            kind,
            time,
        };
        let answer = ours.access(&request);
        let by = match answer.by {
            AnsweredBy::Level(level) => OracleSource::Level(level),
            AnsweredBy::OtherCore => OracleSource::OtherCore,
            AnsweredBy::Memory => OracleSource::Memory,
        };
        let expected = slow.access(core, line, slow_kind, time);
        assert_eq!((by, answer.cycles), expected, "{request:?}");
    }
    compare_counts(&ours, &slow, drawn);
    ours.check();
    let has_one_way_up = walk_level == 0 || drawn.levels.len() > 1;
    if kind.described.name == "inclusive" && has_one_way_up {
        ours.check_inclusion();
    }
}

fn compare_counts(ours: &CacheHierarchy, slow: &OracleCaches, drawn: &Drawn) {
    let (counts, expected) = (ours.counts(), slow.counts());
    for core in 0..drawn.cores {
        for level in 0..drawn.levels.len() {
            let found = counts.cores[core].levels[level];
            let wanted = expected.levels[core][level];
            assert_eq!(found.hits, wanted.hits);
            assert_eq!(found.misses, wanted.misses);
            assert_eq!(found.written_back, wanted.written);
            assert_eq!(found.dropped, wanted.dropped);
            assert_eq!(found.invalidated, wanted.taken);
        }
        assert_eq!(
            counts.cores[core].lost_to[..drawn.cores],
            expected.lost[core]
        );
        assert_eq!(counts.cores[core].transfers, expected.transfers[core]);
        assert_eq!(counts.cores[core].upgrades, expected.upgrades[core]);
        assert_eq!(counts.occupancy[core], slow.occupancy(core) as u64);
    }
    assert_eq!(counts.memory.reads, expected.memory_reads);
    assert_eq!(counts.memory.writes, expected.memory_writes);
    assert_eq!(counts.memory.waited, expected.waited);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_hierarchy_answers_as_the_slow_one(drawn in drawn()) {
        compare(&drawn);
    }
}

/// Each kind and each rule is reached, whatever the draw of the test above.
#[test]
fn every_rule_and_kind_answers_as_the_slow_one() {
    for kind in 0..kinds().len() {
        for rule in 0..LINE_REPLACEMENTS.len() {
            let mut rng = broadleaf_oracle::random::Rng::new(rule as u64);
            let accesses = (0..6000).map(|_| {
                let core = rng.below(2) as usize;
                // Half of the lines are of one core.
                let line = rng.below(300);
                let line = if line < 150 {
                    line
                } else {
                    line + 1000 * core as u64
                };
                (core, line, rng.below(8) as u8, rng.below(30))
            });
            compare(&Drawn {
                kind,
                cores: 2,
                levels: vec![(2, 3, rule), (3, 3, rule), (3, 4, rule)],
                first_of_instructions: Some((1, 1, rule)),
                walk_level: 1,
                banks: 8,
                accesses: accesses.collect(),
            });
        }
    }
}
