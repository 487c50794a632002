//! The hits and misses of DynamoRIO's cache simulator, on imported references.
//! `crates/cli/tests/suite/dynamorio/README.md` says how the figures were made.

#[path = "../../../cli/tests/suite/dynamorio/references.rs"]
mod references;

use broadleaf_cache::{
    AccessCause, AccessKind, CacheHierarchy, CacheKind, CacheRequest, CacheSpec, HierarchySpec,
    LevelCounts, LineReplacement, MainMemorySpec,
};
use broadleaf_import::{FOREIGN_FORMATS, ImportBatch, ImportOptions, ImportSource};
use broadleaf_trace::{Grain, Item, Lead, Visit};
use std::io::Cursor;

/// The output of `cache_counts.cpp`.
const FIGURES: &str = include_str!("../../../cli/tests/suite/dynamorio/cache-figures.txt");

/// The bytes of a line, as a power of two.
const LINE_SHIFT: u32 = 6;

/// The shape of a cache of DynamoRIO, and its counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SimulatedCache {
    kibibytes: u64,
    ways: u64,
    hits: u64,
    misses: u64,
}

/// A line of the figures.
#[derive(Debug)]
struct SimulatedRow {
    /// "all", "data" without instructions, or "reads" for all with loads instead of stores.
    references: &'static str,
    policy: &'static str,
    kind: &'static str,
    /// The first level for instructions, the first level for data, and the lower levels.
    caches: Vec<SimulatedCache>,
}

impl SimulatedRow {
    fn of(line: &'static str) -> Self {
        let mut words = line.split_ascii_whitespace().filter(|word| *word != ":");
        let mut word = || words.next().expect("a word");
        let (references, policy, kind, _levels) = (word(), word(), word(), word());
        let numbers = words.map(|word| word.parse().expect("a number"));
        let numbers: Vec<u64> = numbers.collect();
        let (shapes, counts) = numbers.split_at(numbers.len() / 2);
        let caches = shapes.chunks(2).zip(counts.chunks(2));
        let caches = caches.map(|(shape, counts)| SimulatedCache {
            kibibytes: shape[0],
            ways: shape[1],
            hits: counts[0],
            misses: counts[1],
        });
        Self {
            references,
            policy,
            kind,
            caches: caches.collect(),
        }
    }

    /// Empty caches.
    fn hierarchy(&self) -> CacheHierarchy {
        let kind = match self.kind {
            "neither" => "non-inclusive",
            other => other,
        };
        let rule = match self.policy {
            "LRU" => "lru",
            "RRIP" => "srrip",
            other => panic!("no policy {other}"),
        };
        let rule = LineReplacement::named(rule).expect("a rule");
        let caches = self
            .caches
            .iter()
            .enumerate()
            .map(|(number, cache)| CacheSpec {
                name: format!("cache {number}"),
                level: number.max(1),
                instructions: (number < 2).then_some(number == 0),
                bytes: cache.kibibytes << 10,
                ways: cache.ways as usize,
                latency: 1,
                replacement: rule.into(),
                prefetch: None,
            });
        let memory = MainMemorySpec {
            latency: 1,
            banks: 0,
            bank_cycles: 0,
        };
        let kind = CacheKind::named(kind).expect("a kind");
        let spec = HierarchySpec::new(kind, 1, caches.collect(), 1 << LINE_SHIFT, 1, memory);
        CacheHierarchy::new(&spec.expect("a hierarchy")).expect("caches")
    }

    /// The counts of the row's caches after the visits, and the number of lines that left a level
    /// because they left a lower one.
    fn replayed(&self, visits: &[Visit]) -> (Vec<SimulatedCache>, u64) {
        let mut caches = self.hierarchy();
        for visit in visits {
            for kind in accesses(visit) {
                caches.access(&CacheRequest {
                    core: 0,
                    address: visit.unit << LINE_SHIFT,
                    kind: match kind {
                        AccessKind::Store if self.references == "reads" => AccessKind::Load,
                        kind => kind,
                    },
                    time: 0,
                });
            }
        }
        let levels = caches.counts().cores[0].levels;
        let of_cause = |counts: &LevelCounts, cause: AccessCause| {
            let cause = cause as usize;
            (counts.hits[cause], counts.misses[cause])
        };
        let found = self.caches.iter().enumerate().map(|(number, cache)| {
            let counts = &levels[number.max(1) - 1];
            let data = of_cause(counts, AccessCause::Data);
            let instructions = of_cause(counts, AccessCause::Instruction);
            let (hits, misses) = match number {
                0 => instructions,
                1 => data,
                _ => (data.0 + instructions.0, data.1 + instructions.1),
            };
            SimulatedCache {
                hits,
                misses,
                ..*cache
            }
        });
        let dropped = levels.iter().map(|level| level.dropped).sum();
        (found.collect(), dropped)
    }
}

/// The accesses of a visit to its line, in order.
fn accesses(visit: &Visit) -> impl Iterator<Item = AccessKind> {
    let times = |kind: AccessKind, count: u32| std::iter::repeat_n(kind, count as usize);
    let fetches = if visit.fetch { visit.instructions } else { 0 };
    let lead = match visit.lead {
        Lead::None => None,
        Lead::Load => Some(AccessKind::Load),
        Lead::Store => Some(AccessKind::Store),
    };
    let before = visit.loads_before_store.min(visit.loads);
    times(AccessKind::Fetch, fetches)
        .chain(lead)
        .chain(times(AccessKind::Load, before))
        .chain(times(AccessKind::Store, visit.stores))
        .chain(times(AccessKind::Load, visit.loads - before))
}

/// The visits that the importer makes of a trace of drmemtrace.
fn visits(bytes: &[u8], fetches: bool) -> Vec<Visit> {
    let mut formats = FOREIGN_FORMATS.iter();
    let format = formats.find(|format| format.described.name == "drmemtrace");
    let entry = format.and_then(|format| format.import.as_ref());
    let source = ImportSource::stream("references.trace", Cursor::new(bytes.to_vec()));
    let options = ImportOptions {
        grain: Grain::Line,
        fetches,
        physical: false,
    };
    let importer = (entry.expect("an importer").open)(source, &options);
    let mut importer = importer.expect("a trace of drmemtrace");
    let (mut visits, mut batch) = (Vec::new(), ImportBatch::default());
    while importer.read(&mut batch).expect("a whole trace") {
        for item in batch.items() {
            if let Item::Visits(more) = item {
                visits.extend_from_slice(more);
            }
        }
        batch.clear();
    }
    visits
}

#[test]
fn caches_count_as_those_of_dynamorio() {
    let bytes = references::trace();
    let (data, all) = (visits(&bytes, false), visits(&bytes, true));
    let lines = FIGURES.lines().filter(|line| !line.starts_with('#'));
    let rows: Vec<SimulatedRow> = lines.map(SimulatedRow::of).collect();
    assert_eq!(rows.len(), 54);
    for row in &rows {
        let visits = if row.references == "data" {
            &data
        } else {
            &all
        };
        let (found, dropped) = row.replayed(visits);
        assert_eq!(found, row.caches, "{row:#?}");
        assert_eq!(dropped > 0, row.kind == "inclusive", "{row:#?}");
    }
}
