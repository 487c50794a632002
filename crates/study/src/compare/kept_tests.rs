//! Results that comparisons take over from each other, by policy and machine.

use std::fs;
use std::path::Path;

use broadleaf_metrics::Comparison;

use super::{Request, WARM_UP, compare, policies};
use crate::cache::TraceCache;
use crate::names;
use crate::testing::{NotingWatch, recording};

/// A comparison of policies on machines, with curves or without.
type Asked<'a> = (&'a [&'a str], &'a [&'a str], bool);

/// The comparison, and whether it replayed the trace.
fn compared(
    trace: &Path,
    cache: Option<&TraceCache>,
    (asked, machines, curves): Asked<'_>,
) -> (Comparison, bool) {
    let asked: Vec<String> = asked.iter().map(|name| (*name).to_owned()).collect();
    let machines = machines.iter().map(|name| names::machine(name));
    let watch = NotingWatch::default();
    let request = Request {
        trace,
        keep_going: false,
        max_accesses: None,
        policies: policies(&asked, &[], true).expect("policies"),
        machines: machines.collect::<Result<_, _>>().expect("machines"),
        threads: None,
        curves,
        misses_over_time: false,
        warm_up: WARM_UP,
        restarts: false,
        memory: None,
        cache,
        explain_plan: None,
        watch: &watch,
    };
    let answer = compare(request, &[]).expect("a comparison");
    (answer.comparison, !watch.begun().is_empty())
}

/// Compares with a cache and without. Both count the same. Returns true if the one with the cache
/// replayed the trace.
fn replays(trace: &Path, cache: &TraceCache, asked: Asked<'_>) -> bool {
    let (expected, _) = compared(trace, None, asked);
    let (found, replayed) = compared(trace, Some(cache), asked);
    assert_eq!(found.results, expected.results, "{asked:?}");
    assert_eq!(found.notes, expected.notes, "{asked:?}");
    assert_eq!(found.trace, expected.trace, "{asked:?}");
    replayed
}

/// A recording whose pages return before and after TLBs lose them.
fn trace(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("x.bl");
    let pages = (0..60_000u64).map(|number| number * number % 3001);
    fs::write(&path, recording("program", pages)).expect("a trace");
    path
}

#[test]
fn known_policies_and_machines_are_not_replayed_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = trace(folder.path());
    let cache = TraceCache::new(folder.path().join("caches"), 1 << 24);
    let first: Asked<'_> = (&["4k", "greedy", "pop-64"], &["skylake", "zen2"], false);
    assert!(replays(&path, &cache, first));
    // Fewer of them, in another order.
    for part in [
        (&["pop-64"][..], &["zen2"][..], false),
        (&["greedy", "4k"], &["zen2", "skylake"], false),
    ] {
        assert!(!replays(&path, &cache, part), "{part:?}");
    }
    // One more of either.
    for more in [
        (&["pop-256", "4k"][..], &["zen2"][..], false),
        (&["greedy"], &["skylake", "skylake-va23"], false),
    ] {
        assert!(replays(&path, &cache, more), "{more:?}");
        assert!(!replays(&path, &cache, more), "{more:?}");
    }
    // What several comparisons found.
    let all: Asked<'_> = (&["pop-256", "pop-64"], &["zen2"], false);
    assert!(!replays(&path, &cache, all));
    // What none found: the policy and the machine are known, but not together.
    let apart: Asked<'_> = (&["pop-256"], &["skylake"], false);
    assert!(replays(&path, &cache, apart));
}

/// Results with curves serve requests without, and not the other way round.
#[test]
fn curves_are_left_out_and_not_invented() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = trace(folder.path());
    let cache = TraceCache::new(folder.path().join("caches"), 1 << 24);
    let asked = |policies, curves| -> Asked<'_> { (policies, &["skylake"], curves) };
    assert!(replays(&path, &cache, asked(&["4k", "greedy"], true)));
    assert!(!replays(&path, &cache, asked(&["greedy"], false)));
    assert!(replays(&path, &cache, asked(&["pop-64"], false)));
    assert!(replays(&path, &cache, asked(&["pop-64"], true)));
}

/// Results with frames, with their notes on daemons: by policy, and in the order of the policies.
#[test]
fn results_with_frames_are_taken_over_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = trace(folder.path());
    let cache = TraceCache::new(folder.path().join("caches"), 1 << 24);
    let machines = &["skylake", "zen4"];
    assert!(replays(
        &path,
        &cache,
        (&["4k", "navarro", "linux"], machines, false)
    ));
    assert!(!replays(
        &path,
        &cache,
        (&["linux", "navarro"], machines, false)
    ));
    assert!(!replays(&path, &cache, (&["navarro"], &["zen4"], false)));
    // Without a policy or machine that needs frames, there are no frames.
    assert!(replays(&path, &cache, (&["4k"], &["skylake"], false)));
    let more: Asked<'_> = (&["ingens", "4k", "linux"], &["zen4", "neoverse-n1"], false);
    assert!(replays(&path, &cache, more));
    assert!(!replays(
        &path,
        &cache,
        (&["linux", "ingens"], &["neoverse-n1"], false)
    ));
}

/// Notes on replacement rules are about the whole plan.
#[test]
fn results_with_notes_on_the_plan_serve_the_same_request_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = trace(folder.path());
    let cache = TraceCache::new(folder.path().join("caches"), 1 << 24);
    let asked = |policies| -> Asked<'_> { (policies, &["r4000"], false) };
    assert!(replays(&path, &cache, asked(&["4k", "greedy"])));
    assert!(!replays(&path, &cache, asked(&["4k", "greedy"])));
    assert!(replays(&path, &cache, asked(&["4k"])));
}

/// Curves in modelled memory, policies that know the future, and TLBs of instructions.
#[test]
fn results_of_other_kinds_are_taken_over_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = trace(folder.path());
    let caches = folder.path().join("caches");
    let requests: [[Asked<'_>; 2]; 4] = [
        [
            (&["4k", "navarro"], &["zen4"], true),
            (&["navarro"], &["zen4"], true),
        ],
        [
            (&["foresight", "4k", "freebsd"], &["skylake"], false),
            (&["freebsd", "foresight"], &["skylake"], false),
        ],
        [
            (
                &["greedy", "4k"],
                &["skylake-instructions", "skylake"],
                false,
            ),
            (&["greedy"], &["skylake-instructions"], false),
        ],
        [
            (&["4k", "linux"], &["zen4"], false),
            (&["ingens", "linux", "4k"], &["zen4", "neoverse-n1"], false),
        ],
    ];
    for (number, [first, second]) in requests.into_iter().enumerate() {
        let cache = TraceCache::new(caches.join(number.to_string()), 1 << 24);
        assert!(replays(&path, &cache, first), "{first:?}");
        let is_part = second.0.len() <= first.0.len();
        assert_eq!(replays(&path, &cache, second), !is_part, "{second:?}");
    }
}
