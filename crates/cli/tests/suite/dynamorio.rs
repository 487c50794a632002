//! The hits and misses of DynamoRIO's TLB simulator, on imported references. `dynamorio/README.md`
//! has the commands that made the figures.

#[path = "dynamorio/references.rs"]
mod references;

use crate::support::{file, folder, run, succeeded};
use serde_json::Value;
use std::path::Path;

/// What `counts.cpp` printed.
const FIGURES: &str = include_str!("dynamorio/figures.txt");

/// The hash of the references that the figures were made of.
const REFERENCES: &str = "7c6328bf9632377f55665d2da0498ed577ec846aeb6b1fc5ca14dd84ca1057d0";

/// A line of the figures.
#[derive(Debug)]
struct SimulatedRow {
    /// "all", or "data" without instructions.
    references: &'static str,
    policy: &'static str,
    page_bytes: u64,
    /// The first level for instructions, the first level for data, and the second level.
    tlbs: [SimulatedTlb; 3],
}

/// The shape of a TLB of DynamoRIO, and its counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SimulatedTlb {
    entries: u64,
    ways: u64,
    hits: u64,
    misses: u64,
}

impl SimulatedRow {
    fn of(line: &'static str) -> Self {
        let mut words = line.split_ascii_whitespace();
        let (references, policy) = (words.next().unwrap(), words.next().unwrap());
        let numbers = words.map(|word| word.parse().expect("a number"));
        let numbers: Vec<u64> = numbers.collect();
        let [page_bytes, rest @ ..] = &numbers[..] else {
            panic!("{line}");
        };
        let (shapes, counts) = rest.split_at(6);
        let tlb = |at: usize| SimulatedTlb {
            entries: shapes[2 * at],
            ways: shapes[2 * at + 1],
            hits: counts[2 * at],
            misses: counts[2 * at + 1],
        };
        let (page_bytes, tlbs) = (*page_bytes, [0, 1, 2].map(tlb));
        Self {
            references,
            policy,
            page_bytes,
            tlbs,
        }
    }

    /// The machine's description.
    fn machine(&self, name: &str) -> String {
        let names = [
            ("l1i", 1, "\"fetches\""),
            ("l1d", 1, "\"loads\", \"stores\""),
            ("l2", 2, "\"fetches\", \"loads\", \"stores\""),
        ];
        let shift = self.page_bytes.trailing_zeros();
        let size = match self.page_bytes >> 20 {
            0 => format!("{}k", self.page_bytes >> 10),
            mebibytes => format!("{mebibytes}m"),
        };
        let structures = names.iter().zip(&self.tlbs);
        let structures = structures.map(|((structure, level, serves), tlb)| {
            let index = match (tlb.entries / tlb.ways).trailing_zeros() {
                0 => "none".to_owned(),
                bits => format!("va[{}:{shift}]", shift + bits - 1),
            };
            format!(
                "[[tlb]]\nname = \"{structure}\"\nlevel = {level}\nentries = {}\nways = {}\n\
                 serves = [{serves}]\nindex = {{ {size} = \"{index}\" }}\n{}\n",
                tlb.entries,
                tlb.ways,
                self.rule(tlb.ways)
            )
        });
        let structures: String = structures.collect();
        format!(
            "name = \"{name}\"\nsummary = \"DynamoRIO's TLB simulator\"\n{structures}\
             [walk-cycles]\n{size} = 30\n"
        )
    }

    /// The key of the replacement rule.
    fn rule(&self, ways: u64) -> &'static str {
        match (self.policy, ways) {
            ("LRU", _) => "replacement = \"lru\"",
            ("FIFO", _) => "replacement = \"fifo\"",
            ("LFU", _) => "replacement = \"lfu\"",
            ("BIT_PLRU", 2) => "replacement = \"bit-plru\"",
            ("BIT_PLRU", _) => "replacement = \"bit-plru-random\"\nseed = 1",
            (other, _) => panic!("no policy {other}"),
        }
    }
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&succeeded(&run(arguments))).expect("the answer is JSON")
}

/// The misses of both first levels together, and of the second level, for each row.
fn replayed(folder: &Path, path: &str, rows: &[&SimulatedRow]) -> Vec<[u64; 2]> {
    let machines = rows.iter().enumerate().map(|(at, row)| {
        let name = format!("{}-{at}", row.references);
        let text = row.machine(&name);
        file(folder, &format!("{name}.toml"), text.as_bytes())
    });
    let machines: Vec<String> = machines.collect();
    let named = machines.iter().flat_map(|path| ["--machine", path]);
    let named: Vec<&str> = named.collect();
    let asked = ["compare", path, "--policy", "4k", "--format", "json"];
    let answer = json(&[&asked[..], &named].concat());
    let results = answer["results"].as_array().expect("results").iter();
    let misses = |result: &Value| ["l1_misses", "l2_misses"].map(|name| count(result, name));
    results.map(misses).collect()
}

fn count(answer: &Value, name: &str) -> u64 {
    answer[name].as_u64().expect("a count")
}

#[test]
fn counts_equal_those_of_dynamorio() {
    let folder = folder("dynamorio");
    let bytes = references::trace();
    let trace = file(&folder, "references.trace", &bytes);
    assert_eq!(blake3::hash(&bytes).to_string(), REFERENCES);
    let imported = |name: &str, options: &[&str]| {
        let path = folder.join(name).display().to_string();
        let import = ["import", "drmemtrace", &trace, "-o", &path];
        succeeded(&run(&[&import, options].concat()));
        path
    };
    let traces = [
        ("data", imported("data.bl", &[])),
        ("all", imported("all.bl", &["--instructions"])),
    ];
    let info = json(&["info", &traces[1].1, "--format", "json"]);
    let instructions = count(&info, "instructions");
    // A reference that reaches into further pages looks each of them up.
    let data = count(&info, "accesses") + count(&info, "straddling");
    assert!(instructions > 100_000 && data > 100_000, "{info}");

    let lines = FIGURES.lines().filter(|line| !line.starts_with('#'));
    let rows: Vec<SimulatedRow> = lines.map(SimulatedRow::of).collect();
    let mut first_levels_for_data = Vec::new();
    for (references, path) in &traces {
        let rows = rows.iter().filter(|row| row.references == *references);
        let rows: Vec<&SimulatedRow> = rows.collect();
        assert_eq!(rows.len(), 28);
        let found = replayed(&folder, path, &rows);
        let wanted = rows.iter().map(|row| {
            let [code, data, second] = row.tlbs.map(|tlb| tlb.misses);
            [code + data, second]
        });
        let wanted: Vec<[u64; 2]> = wanted.collect();
        let differing = rows.iter().zip(found.iter().zip(&wanted));
        let differing = differing.filter(|(_, (found, wanted))| found != wanted);
        let differing: Vec<_> = differing.collect();
        assert!(differing.is_empty(), "{references}: {differing:#?}");
        for row in &rows {
            check_lookups(row, instructions, data);
        }
        // The first level for data does not depend on instructions. So the misses of both first
        // levels are equal, and not their sum alone.
        let for_data: Vec<SimulatedTlb> = rows.iter().map(|row| row.tlbs[1]).collect();
        first_levels_for_data.push(for_data);
    }
    assert_eq!(first_levels_for_data[0], first_levels_for_data[1]);
}

/// Asserts that DynamoRIO made one lookup for each instruction and each data reference of the
/// imported trace.
fn check_lookups(row: &SimulatedRow, instructions: u64, data: u64) {
    let lookups = row.tlbs.map(|tlb| tlb.hits + tlb.misses);
    let [code_misses, data_misses] = [row.tlbs[0].misses, row.tlbs[1].misses];
    let fetched = if row.references == "all" {
        instructions
    } else {
        0
    };
    assert_eq!(lookups[0], fetched, "{row:?}");
    // Larger pages have fewer borders.
    assert!(lookups[1] == data || row.page_bytes > 4096, "{row:?}");
    assert_eq!(lookups[2], code_misses + data_misses, "{row:?}");
}
