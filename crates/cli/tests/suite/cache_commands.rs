//! The cache of reduced traces under commands and options beside a plain comparison.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::cache::{aged_entries, cached, caching, compare, quiet, random_text, was_used};
use crate::support::programs::{areas, program};
use crate::support::{broadleaf, fed, file, folder, golden, lackey, stderr, succeeded};
use serde_json::Value;

/// The output of `advise` with its cache in `caches`.
fn advise(caches: &Path, trace: &str, more: &[&str]) -> Output {
    cached(caches, &[&["advise", trace], more].concat())
}

/// The advice is the same without the cache, with the form that it keeps, and from that form. The
/// form keeps the mappings and the processes of recordings.
#[test]
fn advice_is_the_same_with_the_cache() {
    let folder = folder("cache-advice");
    let mut traces: Vec<Vec<u8>> = golden()
        .iter()
        .map(|path| fs::read(path).unwrap())
        .collect();
    traces.push(program(&areas(), 60_000, None));
    let caches = folder.join("caches");
    let mut used = 0;
    for (number, bytes) in traces.iter().enumerate() {
        let trace = file(&folder, &format!("{number}.bl"), bytes);
        // Programs place their memory by the mappings, whose order matters.
        let layout = [
            "--format=mosalloc",
            "--costs=fault=0,zero-kib=0,promotion=0",
        ];
        for more in [&["--format=json"][..], &["--threads=2"], &layout] {
            let answer = |more: &[&str]| {
                let output = advise(&caches, &trace, more);
                (succeeded(&output), stderr(&output))
            };
            let without = answer(&[more, &["--no-cache"]].concat());
            assert!(!caches.exists(), "--no-cache keeps nothing");
            assert_eq!(answer(more), without, "{number} {more:?}");
            let entries = aged_entries(&caches);
            assert_eq!(answer(more), without, "{number} {more:?}");
            used += usize::from(entries.iter().any(|entry| was_used(entry)));
            let _ = fs::remove_dir_all(&caches);
        }
    }
    // A trace whose reduced form is larger than the trace has no entry.
    assert!(used >= 2 * traces.len(), "{used} entries were used");
}

/// What `advise` kept serves `compare`, and the other way round. Events are the same for all
/// machines, so `advise` reads an entry of any family.
#[test]
fn advice_and_comparisons_share_entries() {
    let folder = folder("cache-shared");
    let caches = folder.join("caches");
    let trace = file(&folder, "x.bl", &program(&areas(), 60_000, None));
    let without = quiet(&compare(&caches, &trace, &["--no-cache"]));
    quiet(&advise(&caches, &trace, &[]));
    let entries = aged_entries(&caches);
    assert_eq!(quiet(&compare(&caches, &trace, &[])), without);
    assert!(was_used(&entries[0]));
    assert_eq!(aged_entries(&caches), entries);
    let more = ["--machine=romer1995", "--format=json"];
    let advice = quiet(&advise(&caches, &trace, &more));
    assert!(was_used(&entries[0]));
    assert_eq!(aged_entries(&caches), entries, "no family is added");
    let without = [&more[..], &["--no-cache"]].concat();
    assert_eq!(advice, quiet(&advise(&caches, &trace, &without)));
}

/// `advise` reads a reduced form beside the trace as well, and ignores a form of another trace.
#[test]
fn advice_reads_the_form_beside_the_trace() {
    let folder = folder("cache-beside");
    let caches = folder.join("caches");
    let trace = file(&folder, "x.bl", &program(&areas(), 60_000, None));
    let without = quiet(&advise(&caches, &trace, &["--no-cache", "--format=json"]));
    succeeded(&broadleaf(&["reduce", &trace]).output().unwrap());
    assert_eq!(quiet(&advise(&caches, &trace, &["--format=json"])), without);
    assert!(!caches.exists(), "a second form is kept");
    let changed = file(&folder, "x.bl", &program(&areas(), 50_000, None));
    let output = advise(&caches, &changed, &["--format=json"]);
    let said = stderr(&output);
    assert!(said.contains("was made of another trace"), "{said}");
    assert_eq!(aged_entries(&caches).len(), 1);
    let answer: Value = serde_json::from_str(&succeeded(&output)).unwrap();
    assert_eq!(answer["trace"]["accesses"], 50_000);
}

/// A form beside the trace is read before an entry of the cache.
#[test]
fn advice_reads_the_form_beside_the_trace_before_an_entry() {
    let folder = folder("cache-both");
    let caches = folder.join("caches");
    let trace = file(&folder, "x.bl", &program(&areas(), 60_000, None));
    let from_trace = quiet(&advise(&caches, &trace, &["--format=json"]));
    let entries = aged_entries(&caches);
    assert_eq!(entries.len(), 1);
    succeeded(&broadleaf(&["reduce", &trace]).output().unwrap());
    let from_form = quiet(&advise(&caches, &trace, &["--format=json"]));
    assert_eq!(from_form, from_trace);
    assert!(!was_used(&entries[0]), "the entry is read");
    fs::remove_file(format!("{trace}.reduced")).unwrap();
    assert_eq!(
        quiet(&advise(&caches, &trace, &["--format=json"])),
        from_trace
    );
    assert!(was_used(&entries[0]));
}

/// A form beside the trace that was cut short is ignored with a warning: the trace is whole.
#[test]
fn a_damaged_form_beside_the_trace_does_not_stop_advice() {
    let folder = folder("cache-damaged-form");
    let caches = folder.join("caches");
    let trace = file(&folder, "x.bl", &program(&areas(), 60_000, None));
    let without = quiet(&advise(&caches, &trace, &["--no-cache", "--format=json"]));
    succeeded(&broadleaf(&["reduce", &trace]).output().unwrap());
    let form = format!("{trace}.reduced");
    let bytes = fs::read(&form).unwrap();
    for length in [bytes.len() / 2, bytes.len() - 1] {
        fs::write(&form, &bytes[..length]).unwrap();
        for more in [&["--format=json"][..], &["--format=json", "--no-cache"]] {
            let output = advise(&caches, &trace, more);
            assert_eq!(succeeded(&output), without);
            let said = stderr(&output);
            assert!(said.contains("x.bl.reduced: "), "{said}");
            assert!(said.contains("x.bl itself is read"), "{said}");
            assert!(!said.contains("remove this file"), "{said}");
        }
    }
}

/// Nothing is kept of a trace that cannot be found again or was not read whole, nor beyond the
/// bound.
#[test]
fn advice_keeps_what_comparisons_keep() {
    let folder = folder("cache-advice-bounds");
    let caches = folder.join("caches");
    let bytes = program(&areas(), 60_000, None);
    let trace = file(&folder, "x.bl", &bytes);
    quiet(&advise(&caches, &trace, &["--cache-size", "0"]));
    quiet(&advise(&caches, &trace, &["--cache-size", "100"]));
    let cut = file(&folder, "cut.bl", &bytes[..bytes.len() - 30]);
    succeeded(&advise(&caches, &cut, &["--keep-going"]));
    let mut from_pipe = caching(&caches, &["advise", "-", "--format=json"]);
    let piped = succeeded(&fed(&mut from_pipe, &bytes));
    let piped: Value = serde_json::from_str(&piped).unwrap();
    assert_eq!(piped["trace"]["accesses"], 60_000);
    assert!(aged_entries(&caches).is_empty());
    let undamaged = advise(&caches, &trace, &["--format=json"]);
    let entry = aged_entries(&caches).remove(0);
    let mut bytes = fs::read(&entry).unwrap();
    bytes[200] ^= 4;
    fs::write(&entry, bytes).unwrap();
    let again = advise(&caches, &trace, &["--format=json"]);
    assert_eq!(succeeded(&again), succeeded(&undamaged));
    assert!(stderr(&again).contains("is damaged"), "{}", stderr(&again));
}

/// A share of the footprint needs a pass of base pages before the replay, which the cache serves. A
/// memory far too small, named by its size, needs the same pass after the replay.
#[test]
fn the_footprint_is_measured_from_the_cache() {
    let folder = folder("cache-footprint");
    let caches = folder.join("caches");
    let texts = [lackey(3000), random_text(3)];
    for (number, text) in texts.iter().enumerate() {
        let trace = file(&folder, &format!("{number}.lackey"), text.as_bytes());
        let more = ["--memory", "90%", "--policy", "4k"];
        let answer = |more: &[&str]| {
            let output = compare(&caches, &trace, more);
            succeeded(&output)
        };
        let without = answer(&[&more[..], &["--no-cache"]].concat());
        assert!(!caches.exists(), "--no-cache keeps nothing");
        assert_eq!(answer(&more), without);
        let entries = aged_entries(&caches);
        assert_eq!(entries.len(), 1);
        assert_eq!(answer(&more), without);
        assert!(was_used(&entries[0]));
        // The pages of instructions are no part of a reduced form.
        aged_entries(&caches);
        answer(&[&more[..], &["--code"]].concat());
        assert!(!was_used(&entries[0]));
        // Half of the footprint, as a share and as a size.
        let half: Value =
            serde_json::from_str(&answer(&["--memory", "50%", "--policy", "4k"])).unwrap();
        let footprint = half["memory"]["footprint_bytes"].as_u64().unwrap();
        let size = (footprint / 2).to_string();
        let more = ["--memory", &size, "--policy", "4k"];
        let without = answer(&[&more[..], &["--no-cache"]].concat());
        let measured: Value = serde_json::from_str(&without).unwrap();
        assert_eq!(measured["memory"]["footprint_bytes"], footprint);
        aged_entries(&caches);
        assert_eq!(answer(&more), without);
        assert!(was_used(&entries[0]));
        fs::remove_dir_all(&caches).unwrap();
    }
}
