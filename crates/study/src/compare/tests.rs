use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use broadleaf_metrics::{Comparison, MissSample};

use super::{AskedPolicies, Request, WARM_UP, compare, policies};
use crate::cache::{Facts, TraceCache};
use crate::explained::{PlannedReplay, plan_table};
use crate::memory::{Amount, MemoryRequest};
use crate::names;
use crate::testing::{NotingWatch, recording};
use crate::watch::Watch;

mod timed;

/// A comparison of a trace under these policies.
fn on_skylake<'a>(trace: &'a Path, asked: &[&str], watch: &'a dyn Watch) -> Request<'a> {
    let asked: Vec<String> = asked.iter().map(|name| (*name).to_owned()).collect();
    Request {
        misses_over_time: false,
        warm_up: WARM_UP,
        restarts: false,
        trace,
        keep_going: false,
        max_accesses: None,
        policies: policies(&asked, &[], true).expect("policies"),
        machines: vec![names::machine("skylake").expect("a machine")],
        threads: None,
        curves: false,
        memory: None,
        cache: None,
        explain_plan: None,
        watch,
    }
}

/// The comparison under these policies, and the tasks that it began.
fn compared(trace: &Path, cache: &TraceCache, asked: &[&str]) -> (Comparison, Vec<String>) {
    let watch = NotingWatch::default();
    let request = Request {
        cache: Some(cache),
        // A plan that is shown is carried out, whatever results were kept.
        explain_plan: Some(&|_| {}),
        ..on_skylake(trace, asked, &watch)
    };
    let answer = compare(request, &[]).expect("a comparison");
    (answer.comparison, watch.begun())
}

/// A recording that fills a block of 2 MiB and then stays on a few pages, so that its reduced form
/// is worth an entry. The policy freebsd promotes the block.
fn filled_block() -> Vec<u8> {
    // Multiples of the golden ratio: a trace of pages in a regular order is smaller than any form.
    let scattered = |number: u64| (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) % 20;
    let pages = (0..512).chain((0..60_000).map(scattered));
    recording("program", pages)
}

/// The promotions in the only reduced trace of a cache.
fn foreseen_in(cache: &TraceCache) -> BTreeMap<String, Vec<(u32, u64, u64)>> {
    let reduced = cache.entries().into_iter().filter_map(|entry| {
        let Facts::Reduced(facts) = entry.facts else {
            return None;
        };
        Some(facts.foreseen)
    });
    let mut reduced: Vec<_> = reduced.collect();
    assert_eq!(reduced.len(), 1);
    reduced.remove(0)
}

/// Asserts that a comparison under `foresight` needs a second pass, keeps its promotions in the
/// cache's only entry, and needs no second pass the next time.
fn foresees_once(path: &Path, cache: &TraceCache) {
    let (first, begun) = compared(path, cache, &["4k", "foresight"]);
    assert_eq!(begun, ["comparing", "pass 2 of 2"]);
    assert!(!foreseen_in(cache)["freebsd"].is_empty());
    let (second, begun) = compared(path, cache, &["4k", "foresight"]);
    assert_eq!(begun, ["comparing"]);
    assert_eq!(second.results, first.results);
}

#[test]
fn a_later_comparison_expects_the_promotions_of_an_earlier_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.bl");
    fs::write(&path, filled_block()).expect("a trace");
    let cache = TraceCache::new(folder.path().join("caches"), 1 << 20);
    foresees_once(&path, &cache);
}

#[test]
fn an_entry_learns_promotions_that_it_lacks() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.bl");
    fs::write(&path, filled_block()).expect("a trace");
    let cache = TraceCache::new(folder.path().join("caches"), 1 << 20);
    compared(&path, &cache, &["4k"]);
    assert!(foreseen_in(&cache).is_empty());
    foresees_once(&path, &cache);
}

/// The intervals divide the misses of the whole trace, under policies with frames and without. A
/// page that returns after the TLBs have lost it misses again.
#[test]
fn the_misses_of_all_intervals_are_those_of_the_trace() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.bl");
    let pages = (0..40_000u64).map(|number| number * 7919 % 5000);
    fs::write(&path, recording("program", pages)).expect("a trace");
    let names = ["4k", "greedy", "linux", "navarro", "freebsd"].map(str::to_owned);
    let watch = NotingWatch::default();
    let request = Request {
        misses_over_time: true,
        warm_up: WARM_UP,
        restarts: false,
        trace: &path,
        keep_going: false,
        max_accesses: None,
        policies: policies(&names, &[], true).expect("policies"),
        machines: ["skylake", "zen2"]
            .map(|name| names::machine(name).expect("a machine"))
            .to_vec(),
        threads: None,
        curves: false,
        memory: None,
        cache: None,
        explain_plan: None,
        watch: &watch,
    };
    let answer = compare(request, &[]).expect("a comparison");
    let results = &answer.comparison.results;
    assert_eq!(results.len(), 10);
    for result in results {
        let samples = result.misses_over_time.as_ref().expect("samples");
        let sum = |of: fn(&MissSample) -> u64| samples.iter().map(of).sum::<u64>();
        let name = (&result.policy, &result.machine);
        assert_eq!(sum(|one| one.l1_misses), result.l1_misses, "{name:?}");
        assert_eq!(sum(|one| one.l2_misses), result.l2_misses, "{name:?}");
        let last = samples.last().expect("a sample");
        assert_eq!(last.time, answer.comparison.trace.accesses);
        assert!(samples.is_sorted_by(|one, other| one.time < other.time));
    }
    let walks = |policy: &str| {
        let mut of = results.iter().filter(|result| result.policy == policy);
        of.next().expect("a result").l2_misses
    };
    assert!(walks("4k") > 10 * walks("greedy"), "{}", walks("4k"));
}

/// The results of policies and Linux's own, with curves, and the plans that were shown.
fn compared_beside_linux(path: &Path, shows: bool) -> (Comparison, Vec<PlannedReplay>) {
    let watch = NotingWatch::default();
    let shown = RefCell::new(Vec::new());
    let show = |planned: &PlannedReplay| shown.borrow_mut().push(planned.clone());
    let asked = policies(&["4k".to_owned(), "greedy".to_owned()], &[], true);
    let request = Request {
        misses_over_time: false,
        warm_up: WARM_UP,
        restarts: false,
        trace: path,
        keep_going: false,
        max_accesses: None,
        policies: AskedPolicies {
            kernel: Some("linux".to_owned()),
            ..asked.expect("policies")
        },
        machines: vec![names::machine("skylake").expect("a machine")],
        threads: None,
        curves: true,
        memory: None,
        cache: None,
        explain_plan: shows.then_some(&show),
        watch: &watch,
    };
    let answer = compare(request, &[]).expect("a comparison");
    (answer.comparison, shown.into_inner())
}

/// Linux has a replay of its own, and so a plan and curves of its own.
#[test]
fn the_plan_of_each_replay_is_shown_below_its_heading() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.bl");
    fs::write(&path, filled_block()).expect("a trace");
    let (comparison, shown) = compared_beside_linux(&path, true);
    let headings: Vec<_> = shown.iter().map(|one| one.heading.as_deref()).collect();
    let (first, second) = ("replay of all policies but linux:", "replay of linux:");
    assert_eq!(headings, [Some(first), Some(second)]);
    let is_used = |planned: &PlannedReplay, name: &str| {
        let mut all = planned.accelerators.iter();
        all.any(|one| one.name == name && one.why_not.is_none())
    };
    assert!(is_used(&shown[0], "curves") && is_used(&shown[0], "filter"));
    assert!(!is_used(&shown[1], "curves") && !is_used(&shown[1], "filter"));
    let text = plan_table(&shown[1], broadleaf_report::View::default());
    assert!(text.starts_with("replay of linux:\naccelerator"), "{text}");
    for result in &comparison.results {
        let points = result.curve.as_ref().expect("a curve");
        let fewest = points.iter().filter(|point| point.entries() == 4096);
        let fewest: u64 = fewest.map(|point| point.misses).sum();
        assert!(fewest > 0, "{} misses nowhere", result.policy);
    }
    let (unseen, shown) = compared_beside_linux(&path, false);
    assert_eq!((unseen.results, shown), (comparison.results, Vec::new()));
}

/// Curves of policies and machines that only the model replays, and in memory that is limited.
#[test]
fn every_comparison_has_curves() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.bl");
    fs::write(&path, filled_block()).expect("a trace");
    let limited = MemoryRequest {
        memory: Some(Amount::Bytes(64 << 20)),
        ..MemoryRequest::unlimited()
    };
    for (policy, machine, memory) in [
        ("greedy", "skylake", None),
        ("navarro", "skylake", None),
        ("greedy", "zen4", None),
        ("greedy", "skylake", Some(&limited)),
    ] {
        let watch = NotingWatch::default();
        let request = Request {
            machines: vec![names::machine(machine).expect("a machine")],
            curves: true,
            memory,
            ..on_skylake(&path, &[policy], &watch)
        };
        let answer = compare(request, &[]).expect("a comparison");
        let result = &answer.comparison.results[0];
        let misses = |size: u64, entries: u64| {
            let mut points = result.curve.iter().flatten();
            let point = points
                .find(|point| (point.page_size, point.sets, point.ways) == (size, 1, entries));
            point.map(|point| point.misses)
        };
        // The block of 2 MiB is one page after its last base page was touched, or from the first.
        let name = format!("{policy} on {machine}");
        assert_eq!(misses(2 << 20, 1), Some(1), "{name}");
        let base = misses(4096, 4096).expect("a point");
        assert!(base <= 511, "{name}: {base}");
    }
}
