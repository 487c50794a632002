//! Results in the cache: the same request is not replayed twice, and another request never gets
//! them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::cache::{aged_entries, cached, compare, quiet, random_text, was_used};
use crate::support::programs::{areas, program};
use crate::support::{broadleaf, file, folder, lackey, stderr, succeeded};

/// The files of a cache whose names end like this.
pub(crate) fn entries_of(caches: &Path, ending: &str) -> Vec<PathBuf> {
    let Ok(found) = fs::read_dir(caches.join("broadleaf")) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = found.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(ending));
    paths.sort();
    paths
}

/// Makes an entry look as if it were used long ago.
pub(crate) fn age(entry: &Path) {
    let long_ago = SystemTime::now() - Duration::from_secs(100_000);
    let file = fs::File::open(entry).unwrap();
    file.set_modified(long_ago).unwrap();
}

/// Runs a request on a trace whose entries look old. Returns true if results served it.
fn served(caches: &Path, trace: &str, more: &[&str]) -> bool {
    let without = quiet(&compare(caches, trace, &[more, &["--no-cache"]].concat()));
    let results = entries_of(caches, ".results");
    results.iter().for_each(|entry| age(entry));
    assert_eq!(quiet(&compare(caches, trace, more)), without, "{more:?}");
    results
        .iter()
        .any(|entry| entry.exists() && was_used(entry))
}

/// Results serve the same request, down to the frame and with curves too. The number of threads
/// does not matter.
#[test]
fn the_same_request_is_not_replayed_twice() {
    let folder = folder("results-same");
    let recording = program(&areas(), 60_000, None);
    let traces = [
        file(&folder, "x.bl", &recording),
        file(&folder, "x.lackey", random_text(7).as_bytes()),
    ];
    for trace in &traces {
        for more in [
            &["--policy", "pop-64"][..],
            &["--policy", "linux,navarro"],
            &["--policy", "4k", "--curve"],
            &["--policy", "linux", "--memory", "64M"],
            &["--policy", "greedy", "--machine", "skylake,neoverse-n1"],
            &["--policy", "offline"],
            &[],
        ] {
            let caches = folder.join("caches");
            assert!(!served(&caches, trace, more), "{more:?}");
            let again = served(&caches, trace, &[more, &["--threads", "1"]].concat());
            // The choice of a policy with foresight is more than results.
            assert_eq!(again, more != ["--policy", "offline"], "{more:?}");
            let _ = fs::remove_dir_all(&caches);
        }
    }
}

/// The counts of caches are kept too, and come back to the last figure.
#[test]
fn results_of_machines_with_caches_are_kept() {
    let folder = folder("results-caches");
    let caches = folder.join("caches");
    let trace = folder.join("x.bl");
    let trace = trace.to_str().expect("UTF-8");
    let record = ["record", "--grain", "line", "-o", trace, "--", "true"];
    let recorded = broadleaf(&record).output().expect("it was built");
    if stderr(&recorded).contains("has no recorder") {
        return;
    }
    succeeded(&recorded);
    let more = ["--policy", "4k,greedy", "--machine", "chen2014-1core"];
    assert!(!served(&caches, trace, &more));
    assert!(served(&caches, trace, &more));
}

/// Runs a request on a trace, with the figures of a replay. Returns true if the trace was replayed,
/// whose results are kept then.
fn replayed(caches: &Path, trace: &str, more: &[&str]) -> bool {
    let without = quiet(&compare(caches, trace, &[more, &["--no-cache"]].concat()));
    let before = entries_of(caches, ".results");
    assert_eq!(quiet(&compare(caches, trace, more)), without, "{more:?}");
    entries_of(caches, ".results") != before
}

/// A request for policies and machines that others had is not replayed.
#[test]
fn results_of_several_requests_serve_another() {
    let folder = folder("results-several");
    let caches = folder.join("caches");
    let trace = file(&folder, "x.bl", &program(&areas(), 60_000, None));
    let machines = ["--machine", "skylake,skylake-va23"];
    assert!(replayed(&caches, &trace, &["--policy", "4k,pop-64"]));
    let two = [&["--policy", "pop-128"][..], &machines].concat();
    assert!(replayed(&caches, &trace, &two));
    for more in ["pop-128,4k", "pop-64,pop-128", "pop-64"] {
        assert!(!replayed(&caches, &trace, &["--policy", more]), "{more}");
    }
    // A table has reference policies, and leaves nothing for the columns of CSV to replay.
    let output = |format: &str, more: &[&str]| {
        let request = ["compare", &trace, "--format", format, "--policy", "greedy"];
        succeeded(&cached(&caches, &[&request, more].concat()))
    };
    output("table", &[]);
    let kept = entries_of(&caches, ".results");
    assert_eq!(output("csv", &[]), output("csv", &["--no-cache"]));
    assert!(!replayed(&caches, &trace, &["--policy", "greedy"]));
    assert_eq!(entries_of(&caches, ".results"), kept);
    // The results that are missing here are replayed.
    let all = [&["--policy", "4k,pop-64,pop-128"][..], &machines].concat();
    assert!(replayed(&caches, &trace, &all));
}

/// A request that differs in anything that counts is replayed.
#[test]
fn another_request_is_replayed() {
    let folder = folder("results-other");
    let caches = folder.join("caches");
    let trace = file(&folder, "x.bl", &program(&areas(), 60_000, None));
    let requests: [&[&str]; 8] = [
        &["--policy", "pop-64"],
        &["--policy", "pop-65"],
        &["--policy", "pop-64", "--machine", "skylake-unified-96"],
        &["--policy", "pop-64", "--curve"],
        &["--policy", "pop-64", "--memory", "64M"],
        &["--policy", "pop-64", "--memory", "65M"],
        &[
            "--policy", "pop-64", "--memory", "64M", "--costs", "fault=77",
        ],
        &["--policy", "promote if populated >= 64"],
    ];
    for more in requests {
        assert!(replayed(&caches, &trace, more), "{more:?}");
    }
    for more in requests {
        assert!(served(&caches, &trace, more), "{more:?}");
    }
    let few = ["--policy", "pop-64", "--max-accesses", "100"];
    let output = compare(&caches, &trace, &few);
    assert!(!output.status.success(), "more accesses than allowed");
    // A plan that is shown is carried out.
    entries_of(&caches, ".results")
        .iter()
        .for_each(|entry| age(entry));
    let shown = compare(&caches, &trace, &["--policy", "pop-64", "--explain-plan"]);
    succeeded(&shown);
    let key = entries_of(&caches, ".results");
    assert_eq!(key.len(), requests.len(), "it is the same request");
}

/// A changed trace and a damaged entry are not passed over.
#[test]
fn results_are_checked() {
    let folder = folder("results-checked");
    let caches = folder.join("caches");
    let text = lackey(3000);
    let trace = file(&folder, "x.lackey", text.as_bytes());
    let more = ["--policy", "linux"];
    assert!(!served(&caches, &trace, &more));
    let entry = entries_of(&caches, ".results").remove(0);
    let mut bytes = fs::read(&entry).unwrap();
    bytes[30] ^= 4;
    fs::write(&entry, bytes).unwrap();
    let output = compare(&caches, &trace, &more);
    succeeded(&output);
    let said = stderr(&output);
    assert!(
        said.contains("is damaged") && said.contains("was removed"),
        "{said}"
    );
    assert!(served(&caches, &trace, &more), "they were kept anew");
    file(&folder, "x.lackey", text.replace(" L 2", " S 2").as_bytes());
    assert!(!served(&caches, &trace, &more));
    assert_eq!(
        entries_of(&caches, ".results").len(),
        1,
        "the stale entry is gone"
    );
    assert!(
        aged_entries(&caches).is_empty(),
        "frames need the whole trace"
    );
}
