//! The cache of reduced traces: a second comparison is fast, and its answers are the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::cache_results::{age, entries_of};
use crate::support::programs::{MIB, Part, areas, map, program, recording, stores};
use crate::support::{
    broadleaf, fed, file, folder, golden, lackey, names, refused, stderr, succeeded,
};
use broadleaf_trace::Backing;
use broadleaf_trace::synth::SplitMix64;
use serde_json::Value;

const PAGES: u64 = 3000;

/// The command with its cache in `caches`.
pub(crate) fn caching(caches: &Path, arguments: &[&str]) -> Command {
    let mut command = broadleaf(arguments);
    command
        .env_remove("BROADLEAF_CACHE_SIZE")
        .env("XDG_CACHE_HOME", caches);
    command
}

/// The output of the command with its cache in `caches`.
pub(crate) fn cached(caches: &Path, arguments: &[&str]) -> Output {
    let output = caching(caches, arguments).output();
    output.expect("the command was built for this test")
}

/// The answer of a command that wrote nothing to standard error.
pub(crate) fn quiet(output: &Output) -> String {
    let answer = succeeded(output);
    assert_eq!(stderr(output), "");
    answer
}

/// The output of `compare` with its cache in `caches`.
pub(crate) fn compare(caches: &Path, trace: &str, more: &[&str]) -> Output {
    let first = ["compare", trace, "--format", "json"];
    cached(caches, &[&first, more].concat())
}

/// The reduced traces of a cache, each made to look as if it were used long ago. Removes kept
/// results, so that the next comparison reads a trace.
pub(crate) fn aged_entries(caches: &Path) -> Vec<PathBuf> {
    for results in entries_of(caches, ".results") {
        fs::remove_file(results).unwrap();
    }
    let entries = entries_of(caches, "");
    entries.iter().for_each(|entry| age(entry));
    entries
}

/// Returns true if a comparison has read or written the entry since.
pub(crate) fn was_used(entry: &Path) -> bool {
    let used = entry.metadata().unwrap().modified().unwrap();
    used.elapsed().unwrap_or_default() < Duration::from_secs(50_000)
}

/// Lackey text of accesses at random, with runs on a page.
pub(crate) fn random_text(seed: u64) -> String {
    let mut random = SplitMix64::new(seed);
    let mut text = String::new();
    for _ in 0..6000 {
        let kind = ["L", "S", "M"][random.below(3) as usize];
        let most = 1 + random.below(900);
        let page = random.below(most);
        for _ in 0..random.below(30) {
            let address = 0x2000_0000 + page * 4096 + random.below(500) * 8;
            text.push_str(&format!(" {kind} {address:x},8\n"));
        }
    }
    text
}

/// Recordings with events, and texts; the default policies, and one without another pass.
#[test]
fn a_second_comparison_has_the_same_answer() {
    let folder = folder("cache-same");
    let mut traces: Vec<(String, Vec<u8>)> = golden()
        .iter()
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read(path).unwrap())
        })
        .collect();
    traces.push(("x.lackey".to_owned(), lackey(PAGES).into_bytes()));
    for seed in 0..3 {
        let name = format!("{seed}.lackey");
        traces.push((name, random_text(seed).into_bytes()));
    }
    let mut used = 0;
    for (name, bytes) in &traces {
        let trace = file(&folder, name, bytes);
        for more in [
            &[][..],
            &["--policy", "pop-64", "--threads", "2"],
            &[
                "--machine",
                "skylake,skylake-unified-96",
                "--policy",
                "freebsd",
            ],
        ] {
            let caches = folder.join("caches");
            let without = quiet(&compare(&caches, &trace, &[more, &["--no-cache"]].concat()));
            assert!(!caches.exists(), "--no-cache keeps nothing");
            assert_eq!(
                quiet(&compare(&caches, &trace, more)),
                without,
                "{name} {more:?}"
            );
            let entries = aged_entries(&caches);
            assert_eq!(
                quiet(&compare(&caches, &trace, more)),
                without,
                "{name} {more:?}"
            );
            used += usize::from(entries.iter().any(|entry| was_used(entry)));
            let _ = fs::remove_dir_all(&caches);
        }
    }
    // A trace whose reduced form is larger than the trace has no entry.
    assert!(used >= 2 * traces.len(), "{used} entries were used");
}

/// What was learned for one policy serves another, and a comparison with more accesses than allowed
/// is refused all the same.
#[test]
fn an_entry_serves_any_policy() {
    let folder = folder("cache-policies");
    let caches = folder.join("caches");
    let trace = file(&folder, "x.lackey", lackey(PAGES).as_bytes());
    quiet(&compare(&caches, &trace, &["--policy", "4k"]));
    let entries = aged_entries(&caches);
    assert_eq!(entries.len(), 1);
    let without = quiet(&compare(&caches, &trace, &["--no-cache"]));
    assert_eq!(quiet(&compare(&caches, &trace, &[])), without);
    assert!(was_used(&entries[0]));
    // Curves, and memory down to the frame, need the whole trace.
    aged_entries(&caches);
    for more in [&["--curve"][..], &["--memory", "64M", "--policy", "linux"]] {
        let with = quiet(&compare(&caches, &trace, more));
        assert_eq!(
            with,
            quiet(&compare(&caches, &trace, &[more, &["--no-cache"]].concat()))
        );
        assert!(!was_used(&entries[0]), "{more:?}");
    }
}

#[test]
fn a_changed_trace_is_read() {
    let folder = folder("cache-changed");
    let caches = folder.join("caches");
    let text = lackey(PAGES);
    let trace = file(&folder, "x.lackey", text.as_bytes());
    let before = quiet(&compare(&caches, &trace, &[]));
    let written = Path::new(&trace).metadata().unwrap().modified().unwrap();
    // As long as before, and as old as before.
    file(&folder, "x.lackey", text.replace(" L 2", " S 2").as_bytes());
    let open = fs::File::open(&trace).unwrap();
    open.set_modified(written).unwrap();
    let after = quiet(&compare(&caches, &trace, &[]));
    assert_ne!(after, before);
    assert_eq!(after, quiet(&compare(&caches, &trace, &["--no-cache"])));
    assert_eq!(aged_entries(&caches).len(), 1, "the stale entry is gone");
}

/// A trace that was read with something left out is not kept.
#[test]
fn damaged_traces_are_not_kept() {
    let folder = folder("cache-cut");
    let caches = folder.join("caches");
    let bytes = program(&areas(), 60_000, None);
    let cut = file(&folder, "cut.bl", &bytes[..bytes.len() - 30]);
    succeeded(&compare(&caches, &cut, &["--keep-going", "--policy", "4k"]));
    assert!(!caches.exists());
    // The whole trace is worth an entry.
    let whole = file(&folder, "whole.bl", &bytes);
    quiet(&compare(&caches, &whole, &["--policy", "4k"]));
    assert_eq!(aged_entries(&caches).len(), 1);
}

/// No later command can find a trace from a pipe. A command copies a recording from a pipe, and
/// keeps nothing of the copy.
#[test]
fn traces_from_pipes_are_not_kept() {
    let folder = folder("cache-piped");
    let caches = folder.join("caches");
    let bytes = program(&areas(), 60_000, None);
    let arguments = ["compare", "-", "--policy", "4k", "--format", "json"];
    quiet(&fed(&mut caching(&caches, &arguments), &bytes));
    let text = lackey(PAGES);
    quiet(&fed(&mut caching(&caches, &arguments), text.as_bytes()));
    assert!(!caches.exists());
    // The same bytes in a file are worth an entry, which serves the pipe as well.
    let trace = file(&folder, "x.bl", &bytes);
    quiet(&compare(&caches, &trace, &["--policy", "4k"]));
    let entries = aged_entries(&caches);
    assert_eq!(entries.len(), 1);
    quiet(&fed(&mut caching(&caches, &arguments), &bytes));
    assert!(was_used(&entries[0]));
}

/// A trace that is read from its start again is not kept: the two passes may read different bytes.
#[test]
fn traces_that_are_read_twice_are_not_kept() {
    let folder = folder("cache-twice");
    let caches = folder.join("caches");
    let start = 0x2000_0000;
    let pages = (0..60_000).map(|number| start + number % 64 * 4096);
    let mapping = Part::Event(map(start, 2 * MIB, Backing::Anonymous));
    let visits = Part::Visits(stores(pages));
    let first = file(
        &folder,
        "first.bl",
        &recording(&[mapping.clone(), visits.clone()]),
    );
    let late = file(&folder, "late.bl", &recording(&[visits, mapping]));
    quiet(&compare(&caches, &late, &["--policy", "4k"]));
    assert!(!caches.exists());
    quiet(&compare(&caches, &first, &["--policy", "4k"]));
    assert_eq!(aged_entries(&caches).len(), 1);
}

#[test]
fn a_damaged_entry_costs_time_only() {
    let folder = folder("cache-damaged");
    let caches = folder.join("caches");
    let trace = file(&folder, "x.lackey", lackey(PAGES).as_bytes());
    let answer = quiet(&compare(&caches, &trace, &[]));
    let entry = aged_entries(&caches).remove(0);
    let mut bytes = fs::read(&entry).unwrap();
    bytes[200] ^= 4;
    fs::write(&entry, bytes).unwrap();
    let output = compare(&caches, &trace, &[]);
    assert_eq!(succeeded(&output), answer);
    let said = stderr(&output);
    assert!(
        said.contains("is damaged") && said.contains("was removed"),
        "{said}"
    );
    aged_entries(&caches);
    assert_eq!(
        quiet(&compare(&caches, &trace, &[])),
        answer,
        "it was kept anew"
    );
    assert!(was_used(&entry));
}

#[test]
fn the_size_is_bounded_and_0_keeps_nothing() {
    let folder = folder("cache-size");
    let caches = folder.join("caches");
    let texts = [0, 1, 2].map(random_text);
    let traces = [0, 1, 2].map(|at| file(&folder, &format!("{at}.lackey"), texts[at].as_bytes()));
    quiet(&compare(&caches, &traces[0], &["--cache-size", "0"]));
    for (size, status) in [("0", Some(0)), ("much", Some(2))] {
        let mut command = caching(&caches, &["compare", &traces[0]]);
        let output = command.env("BROADLEAF_CACHE_SIZE", size).output().unwrap();
        assert_eq!(output.status.code(), status, "{size}");
    }
    assert!(!caches.exists());
    quiet(&compare(&caches, &traces[0], &[]));
    let bytes = aged_entries(&caches)[0].metadata().unwrap().len();
    let bound = (5 * bytes / 2).to_string();
    for trace in &traces {
        quiet(&compare(&caches, trace, &["--cache-size", &bound]));
    }
    let entries = aged_entries(&caches);
    let sum: u64 = entries
        .iter()
        .map(|entry| entry.metadata().unwrap().len())
        .sum();
    assert!(sum <= 5 * bytes / 2 && !entries.is_empty(), "{sum}");
}

/// Two comparisons at once leave one entry, which serves; so do comparisons that are killed.
#[test]
fn comparisons_at_once_and_killed_ones() {
    let folder = folder("cache-at-once");
    let caches = folder.join("caches");
    let trace = file(&folder, "x.lackey", random_text(5).as_bytes());
    let answer = quiet(&compare(&caches, &trace, &["--no-cache"]));
    let begin = || {
        caching(&caches, &["compare", &trace, "--format", "json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    for round in 0..4 {
        let _ = fs::remove_dir_all(&caches);
        let mut killed = begin();
        let both = [begin(), begin()];
        std::thread::sleep(Duration::from_millis(20 * round));
        let _ = killed.kill();
        killed.wait().unwrap();
        for child in both {
            assert_eq!(succeeded(&child.wait_with_output().unwrap()), answer);
        }
        assert_eq!(
            aged_entries(&caches).len(),
            1,
            "{:?}",
            names(&caches.join("broadleaf"))
        );
        assert_eq!(quiet(&compare(&caches, &trace, &[])), answer);
        assert!(was_used(&entries_of(&caches, ".reduced")[0]));
    }
}

/// Without a folder for entries, only the speed is lost. One line names the reason and the remedy.
#[test]
fn a_folder_that_cannot_be_written_is_named_once() {
    let folder = folder("cache-nowhere");
    let trace = file(&folder, "x.lackey", lackey(PAGES).as_bytes());
    let whole = ["compare", &trace, "--format", "json", "--no-cache"];
    let answer = quiet(&cached(&folder.join("caches"), &whole));
    let in_folder = |caches: &str, arguments: &[&str]| {
        let mut command = caching(Path::new(caches), arguments);
        command.current_dir(&folder).env("HOME", "/proc/nobody");
        command.output().unwrap()
    };
    // A file in the way; a file system that holds no files; a path that is not absolute.
    for caches in [trace.as_str(), "/proc", "caches"] {
        let share = ["--memory", "90%", "--policy", "4k"];
        for arguments in [&whole[..4], &whole[..4], &[&whole[..4], &share].concat()] {
            let output = in_folder(caches, arguments);
            let found = succeeded(&output);
            assert!(arguments.len() > 4 || found == answer);
            let said = stderr(&output);
            assert!(said.contains("cannot keep what was learned of"), "{said}");
            assert!(said.contains("/broadleaf: "), "{said}");
            assert!(said.contains("--no-cache"), "{said}");
            assert_eq!(said.lines().count(), 1, "{said}");
        }
        assert_eq!(quiet(&in_folder(caches, &whole)), answer);
    }
    let mut command = broadleaf(&whole[..4]);
    command.env_remove("BROADLEAF_CACHE_SIZE");
    command.env_remove("XDG_CACHE_HOME").env_remove("HOME");
    assert_eq!(quiet(&command.output().unwrap()), answer);
    assert_eq!(names(&folder), ["x.lackey"]);
    let mut command = broadleaf(&["cache"]);
    command.env_remove("XDG_CACHE_HOME").env_remove("HOME");
    assert!(refused(&command.output().unwrap()).contains("set HOME"));
}

#[test]
fn the_cache_is_shown_and_cleared() {
    let folder = folder("cache-shown");
    let caches = folder.join("caches");
    let trace = file(&folder, "x.lackey", lackey(PAGES).as_bytes());
    let cache = |arguments: &[&str]| cached(&caches, arguments);
    assert!(succeeded(&cache(&["cache"])).contains("in 0 files"));
    quiet(&compare(&caches, &trace, &["--policy", "4k"]));
    let table = succeeded(&cache(&["cache"]));
    assert!(
        table.contains("in 2 files\n") && table.contains("x.lackey"),
        "{table}"
    );
    let shown: Value =
        serde_json::from_str(&succeeded(&cache(&["cache", "--format", "json"]))).unwrap();
    assert_eq!(shown["limit"], 2u64 << 30);
    let entries = shown["entries"].as_array().unwrap();
    let mut kinds: Vec<&str> = entries
        .iter()
        .map(|of| of["kind"].as_str().unwrap())
        .collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["reduced trace", "results"]);
    for entry in entries {
        assert_eq!(entry["accesses"], 2 * PAGES);
    }
    let said = stderr(&cache(&["cache", "--clear"]));
    assert!(said.contains("removed 2 files\n"), "{said}");
    assert!(aged_entries(&caches).is_empty());
}
