//! Results of recordings that are kept have not moved.
//!
//! `tests/golden` holds small recordings and, for each, what every policy counted on two machines:
//! one result to a line. A count that moves is a bug or a change of the rules. After a change of
//! the rules `scripts/golden.sh` writes the results anew (it sets `BROADLEAF_UPDATE`), and
//! CHANGELOG.md says what moved and why.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{broadleaf, run, succeeded};
use broadleaf_oracle::{OracleMachine as Machine, OwnedItem, PolicySpec, Recording, replay};
use broadleaf_trace::{Item, TraceReader};
use serde_json::Value;

/// All that are compared by default, and a life short enough for recordings of this size.
fn policies() -> Vec<&'static str> {
    let mut names = Vec::new();
    for entry in (broadleaf_policy::catalogue().iter()).filter(|entry| entry.by_default) {
        if entry.name == "life" {
            names.push("life-1e4");
        }
        names.extend(entry.examples);
    }
    names
}

const MACHINES: [&str; 2] = ["skylake", "skylake-unified-96"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden")
}

/// What `compare` counts on a recording: a line for the trace, then one for each policy and
/// machine.
fn results(recording: &Path) -> String {
    let mut arguments = vec![
        "compare",
        recording.to_str().expect("the path is UTF-8"),
        "--format",
        "json",
    ];
    let policies = policies();
    arguments.extend(policies.iter().flat_map(|name| ["--policy", name]));
    arguments.extend(MACHINES.iter().flat_map(|name| ["--machine", name]));
    let mut answer: Value =
        serde_json::from_str(&succeeded(&run(&arguments))).expect("the answer is JSON");
    // The path of the file is not part of the result.
    answer["trace"]
        .as_object_mut()
        .expect("a trace")
        .remove("path");
    let mut lines = vec![answer["trace"].to_string()];
    let results = answer["results"].as_array_mut().expect("results");
    for result in results {
        // The spelling that the user chose is no result either.
        result.as_object_mut().expect("a result").remove("asked");
        // An estimate is no count.
        let estimate = result.as_object_mut().expect("a result").remove("run_time");
        assert!(estimate.is_some_and(|estimate| estimate["basis"] == "table"));
        lines.push(result.to_string());
    }
    assert_eq!(lines.len(), 1 + policies.len() * MACHINES.len());
    format!("[\n{}\n]\n", lines.join(",\n"))
}

/// The recordings that are kept.
fn recordings() -> Vec<PathBuf> {
    let entries = fs::read_dir(folder()).expect("a folder of recordings");
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    found.retain(|path| path.extension().is_some_and(|extension| extension == "bl"));
    found.sort();
    assert!(found.len() >= 3, "{found:?}");
    found
}

#[test]
fn golden_results_have_not_moved() {
    let update = std::env::var_os("BROADLEAF_UPDATE").is_some();
    let mut moved = Vec::new();
    for recording in recordings() {
        let fresh = results(&recording);
        let kept = recording.with_extension("json");
        if update {
            fs::write(&kept, fresh).expect("results are written");
            continue;
        }
        let old =
            fs::read_to_string(&kept).unwrap_or_else(|error| panic!("{}: {error}", kept.display()));
        let name = recording
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or_default();
        moved.extend(
            old.lines()
                .zip(fresh.lines())
                .filter(|(old, fresh)| old != fresh)
                .map(|(old, fresh)| format!("{name} was {old}\n{name} is  {fresh}")),
        );
        assert_eq!(
            old.lines().count(),
            fresh.lines().count(),
            "{name} has more or fewer results"
        );
    }
    assert!(
        moved.is_empty(),
        "golden results moved (scripts/golden.sh writes them anew):\n{}",
        moved.join("\n")
    );
}

/// What readers see of memory that runs short.
#[test]
fn the_table_of_limited_memory_has_not_moved() {
    let arguments = [
        "compare",
        "blocks.bl",
        "--policy=4k,freebsd,greedy,pop-64,linux,navarro",
        "--memory=75%",
        "--occupied=5%",
        "--over-time",
    ];
    let output = broadleaf(&arguments).current_dir(folder()).output();
    let fresh = succeeded(&output.expect("the command was built for this test"));
    let kept = folder().join("blocks.memory.txt");
    if std::env::var_os("BROADLEAF_UPDATE").is_some() {
        fs::write(&kept, &fresh).expect("the table is written");
    }
    let stands = fs::read_to_string(&kept).unwrap_or_default();
    assert_eq!(
        stands, fresh,
        "the table moved (scripts/golden.sh writes it anew)"
    );
}

/// The whole of a recording, as the oracle takes it.
fn read(path: &Path) -> Recording {
    let file = fs::File::open(path).expect("a recording");
    let mut reader = TraceReader::new(file).expect("a recording of ours");
    let mut recording = Recording {
        grain: reader.header().grain,
        items: Vec::new(),
    };
    while let Some(item) = reader.next_item().expect("a whole recording") {
        recording.items.push(match item {
            Item::Visits(visits) => OwnedItem::Visits(visits.to_vec()),
            Item::Event(event) => OwnedItem::Event(event.clone()),
        });
    }
    recording
}

/// The golden results are true, by the second model.
#[test]
fn the_oracle_counts_the_same_on_golden_recordings() {
    for path in recordings() {
        let kept = fs::read_to_string(path.with_extension("json")).expect("results");
        let kept: Vec<Value> = serde_json::from_str(&kept).expect("results are JSON");
        let recording = read(&path);
        let policies = PolicySpec::ALL.into_iter();
        let pairs = policies
            .chain([PolicySpec::Life(10_000)])
            .flat_map(|policy| MACHINES.map(|machine| (policy, machine)));
        for (policy, machine) in pairs {
            let name = policy.to_string();
            let told = Machine::ALL
                .into_iter()
                .find(|told| told.to_string() == machine)
                .expect("the oracle is told of each machine");
            let ours = kept
                .iter()
                .find(|result| result["policy"] == name.as_str() && result["machine"] == machine)
                .unwrap_or_else(|| panic!("no result of {name} on {machine}"));
            let counts = replay(&recording, policy, told);
            for (field, count) in [
                ("accesses", counts.accesses),
                ("l1_misses", counts.l1_misses),
                ("l2_misses", counts.l2_misses),
                ("walks_4k", counts.walks_4k),
                ("walks_2m", counts.walks_2m),
                ("walk_cycles", counts.walk_cycles),
                ("page_faults", counts.page_faults),
                ("promotions", counts.promotions),
                ("demotions", counts.demotions),
                ("extra_zeroed_pages", counts.extra_zeroed_pages),
                ("extra_disk_read_pages", counts.extra_disk_read_pages),
                ("false_dirty_pages", counts.false_dirty_pages),
                (
                    "false_dirty_pages_anonymous",
                    counts.false_dirty_pages_anonymous,
                ),
                ("false_dirty_pages_file", counts.false_dirty_pages_file),
                (
                    "clean_pages_in_superpages",
                    counts.clean_pages_in_superpages,
                ),
                (
                    "clean_pages_in_superpages_anonymous",
                    counts.clean_pages_in_superpages_anonymous,
                ),
                (
                    "clean_pages_in_superpages_file",
                    counts.clean_pages_in_superpages_file,
                ),
                ("touched_pages", counts.touched_pages),
                ("touched_pages_anonymous", counts.touched_pages_anonymous),
                ("touched_pages_file", counts.touched_pages_file),
                ("resident_pages", counts.resident_pages),
                ("peak_resident_pages", counts.peak_resident_pages),
                ("regions", counts.regions),
                ("regions_anonymous", counts.regions_anonymous),
                ("regions_file", counts.regions_file),
            ] {
                assert_eq!(
                    ours[field].as_u64(),
                    Some(count),
                    "{}: {field} of {name} on {machine}",
                    path.display()
                );
            }
            let refusals = serde_json::to_value(&counts.refusals).expect("refusals are JSON");
            assert_eq!(
                ours["refusals"],
                refusals,
                "{}: refusals of {name}",
                path.display()
            );
        }
    }
}
