//! The walks and the reads of walks of ChampSim, on imported references. `champsim/README.md` has
//! the commands that made the figures, and the reason for each difference.

#[path = "champsim/references.rs"]
mod references;

use crate::support::{file, folder, run, succeeded};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The counts of ChampSim.
const FIGURES: &str = include_str!("champsim/figures.txt");

/// ChampSim's TLBs and walk caches.
const MACHINE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/suite/champsim/champsim.toml"
);

/// A line of the figures.
#[derive(Debug)]
struct WalkerRow {
    trace: &'static str,
    /// The hash of the trace that the figures were made of.
    hash: &'static str,
    /// The misses of the second level.
    walks: u64,
    /// The entries of the page table that the walker reads.
    reads: u64,
}

impl WalkerRow {
    fn named(trace: &str) -> Self {
        let lines = FIGURES.lines().filter(|line| !line.starts_with('#'));
        let mut rows = lines.map(|line| {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let [trace, hash, walks, reads] = words[..] else {
                panic!("{line}");
            };
            let [walks, reads] = [walks, reads].map(|word| word.parse().expect("a number"));
            Self {
                trace,
                hash,
                walks,
                reads,
            }
        });
        rows.find(|row| row.trace == trace).expect("a row")
    }
}

/// The walks of a replay, the walks that began at an entry of a walk cache, and the reads.
struct ReplayedWalks {
    walks: u64,
    cached: u64,
    reads: u64,
}

impl ReplayedWalks {
    /// The reads of ChampSim's walker for the same walks. It reads an entry that a walk cache holds
    /// once more.
    fn reads_of_champsim(&self) -> u64 {
        self.reads + self.cached
    }
}

/// Replays a trace of ChampSim.
fn replayed(folder: &Path, row: &WalkerRow, bytes: &[u8]) -> ReplayedWalks {
    let trace = file(folder, &format!("{}.champsimtrace", row.trace), bytes);
    assert_eq!(blake3::hash(bytes).to_string(), row.hash, "{trace}");
    let path = folder.join(row.trace).with_extension("bl");
    let path = path.display().to_string();
    let import = ["import", "champsim", &trace, "--instructions", "-o", &path];
    succeeded(&run(&import));
    let asked = ["compare", &path, "--policy", "4k", "--machine", MACHINE];
    let answer = succeeded(&run(&[&asked[..], &["--format", "json"]].concat()));
    let answer: Value = serde_json::from_str(&answer).expect("the answer is JSON");
    let count = |name: &str| answer["results"][0][name].as_u64().expect("a count");
    ReplayedWalks {
        walks: count("l2_misses"),
        cached: count("walk_cache_hits"),
        reads: count("walk_reads"),
    }
}

/// A golden recording, exported for ChampSim.
fn exported(folder: &Path, name: &str) -> Vec<u8> {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden");
    let golden = format!("{golden}/{name}.bl");
    let path = folder.join("exported").display().to_string();
    let arguments = ["export", "champsim", &golden, "-o", &path, "--force"];
    succeeded(&run(&arguments));
    fs::read(&path).expect("the export")
}

#[test]
fn walks_and_their_reads_equal_those_of_champsim() {
    let folder = folder("champsim");
    let row = WalkerRow::named("patterns");
    let found = replayed(&folder, &row, &references::patterns());
    assert_eq!(found.walks, row.walks);
    assert_eq!(found.reads_of_champsim(), row.reads);
    // Caches find nothing for some walks, and an entry of another level than the lowest for others.
    assert!(found.cached < found.walks && found.reads > found.walks + found.walks / 2);

    for (program, in_order) in [("sort", "sort-in-order"), ("blocks", "blocks-in-order")] {
        let row = WalkerRow::named(in_order);
        let bytes = references::in_order(&exported(&folder, program));
        let found = replayed(&folder, &row, &bytes);
        assert_eq!(found.walks, row.walks, "{in_order}");
        assert_eq!(found.reads_of_champsim(), row.reads, "{in_order}");
    }
}

/// The out-of-order core has several accesses in flight. Some are merged before they reach a TLB,
/// and a walk can begin before another one has filled the walk caches.
#[test]
fn walks_of_an_out_of_order_core_are_near() {
    let folder = folder("champsim-out-of-order");
    for program in ["sort", "blocks"] {
        let row = WalkerRow::named(program);
        let mut bytes = exported(&folder, program);
        references::end(&mut bytes);
        let found = replayed(&folder, &row, &bytes);
        let walks = found.walks.abs_diff(row.walks);
        let reads = found.reads_of_champsim().abs_diff(row.reads);
        assert!(1000 * walks <= row.walks, "{program}: {walks} walks differ");
        assert!(50 * reads <= row.reads, "{program}: {reads} reads differ");
    }
}
