use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use broadleaf_metrics::{CellResult, Comparison};
use broadleaf_policy::{GivenPolicy, Point, Policy, Refusal, Verdict, View};

use super::{PolicyChoice, Request, WARM_UP, chosen_policies, compare};
use crate::cache::TraceCache;
use crate::failure::Failure;
use crate::memory::{Amount, MemoryRequest};
use crate::names;
use crate::testing::recording;
use crate::watch::{Task, Unwatched, Watch, Work};

/// `pop-64`, written again by a user. It counts the questions.
struct Mine {
    asked: Arc<AtomicU64>,
}

impl Policy for Mine {
    fn name(&self) -> String {
        "mine".to_owned()
    }

    fn decide(&self, point: Point, view: &View) -> Verdict {
        self.asked.fetch_add(1, Ordering::Relaxed);
        match (view.promoted, view.reservation_age, point) {
            (true, ..) => Verdict::Pass,
            (_, None, Point::Fault) => Verdict::Stay(Refusal::NoReservation),
            (_, None, _) => Verdict::Pass,
            _ => Verdict::promote_if(view.populated >= 64, Refusal::TooFewResident),
        }
    }
}

fn mine(asked: &Arc<AtomicU64>) -> PolicyChoice {
    let asked = Arc::clone(asked);
    PolicyChoice::Given(GivenPolicy::new(Mine { asked }).expect("a free name"))
}

fn compared(
    trace: &Path,
    choices: &[PolicyChoice],
    memory: Option<&MemoryRequest>,
    cache: Option<&TraceCache>,
    watch: &dyn Watch,
) -> Result<Comparison, Failure> {
    let request = Request {
        trace,
        keep_going: false,
        max_accesses: None,
        policies: chosen_policies(choices)?,
        machines: vec![names::machine("skylake")?],
        threads: None,
        curves: false,
        misses_over_time: false,
        warm_up: WARM_UP,
        restarts: false,
        memory,
        cache,
        explain_plan: None,
        watch,
    };
    Ok(compare(request, &["4k"])?.comparison)
}

/// A result without the names of its policy.
fn counts(result: &CellResult) -> CellResult {
    let mut counts = result.clone();
    (counts.policy, counts.asked) = (String::new(), String::new());
    counts
}

#[test]
fn a_policy_as_a_value_has_the_counts_of_an_equal_policy_of_the_catalogue() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.bl");
    fs::write(
        &path,
        recording("program", (0..4000).map(|page| page % 3000)),
    )
    .expect("a trace");
    let cache = TraceCache::new(folder.path().join("caches"), 1 << 20);
    let asked = Arc::new(AtomicU64::new(0));
    let choices = [PolicyChoice::Named("pop-64".to_owned()), mine(&asked)];
    let small = MemoryRequest {
        memory: Some(Amount::Bytes(8 << 20)),
        ..MemoryRequest::unlimited()
    };
    for memory in [None, Some(&MemoryRequest::unlimited()), Some(&small)] {
        let mut questions = 0;
        // No entry of the cache answers for a value, whose name says nothing of it.
        for _ in 0..2 {
            let answer = compared(&path, &choices, memory, Some(&cache), &Unwatched);
            let results = answer.expect("a comparison").results;
            let [theirs, ours] = &results[..] else {
                panic!("{} results", results.len());
            };
            assert_eq!((&*ours.policy, &*ours.asked), ("mine", "mine"));
            assert_eq!(counts(ours), counts(theirs));
            assert!(ours.promotions > 0);
            let now = asked.load(Ordering::Relaxed);
            assert!(now > questions, "the policy was not asked");
            questions = now;
        }
    }
    // Another value of one name is another policy.
    let twice = compared(&path, &[mine(&asked), mine(&asked)], None, None, &Unwatched);
    let text = twice.expect_err("one name").to_string();
    assert!(
        text.starts_with("two policies are called \"mine\""),
        "{text}"
    );
}

#[derive(Debug)]
struct Stopping;

impl Watch for Stopping {
    fn begin(&self, doing: &str, work: Work) -> Box<dyn Task> {
        Unwatched.begin(doing, work)
    }

    fn is_stopped(&self) -> bool {
        true
    }
}

#[test]
fn a_watch_stops_a_comparison() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.bl");
    fs::write(
        &path,
        recording("program", (0..400_000).map(|page| page % 3000)),
    )
    .expect("a trace");
    let choices = [PolicyChoice::Named("pop-64".to_owned())];
    for memory in [None, Some(&MemoryRequest::unlimited())] {
        let stopped = compared(&path, &choices, memory, None, &Stopping);
        assert_eq!(stopped.expect_err("it stops").to_string(), "stopped");
    }
}
