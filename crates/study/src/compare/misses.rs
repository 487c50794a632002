//! The TLB misses of policies over time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use broadleaf_metrics::{CellResult, MissSample, TraceSummary};
use broadleaf_model::{SlowLookups, Step, StepListener};

use crate::failure::Failure;
use crate::listening::Listening;

/// The number of samples over a trace.
const SAMPLES: u64 = 1024;

/// Adds the misses over time to results whose memory is not limited, by one more replay.
///
/// # Errors
/// If the trace cannot be read.
pub(super) fn add_misses(
    results: &mut [CellResult],
    trace: &TraceSummary,
    listening: &Listening<'_>,
) -> Result<(), Failure> {
    let interval = trace.accesses.div_ceil(SAMPLES).max(1);
    let heard = Heard::default();
    let results_of = Arc::clone(&heard);
    let listener = move |policy: &str, machine: &str| -> Option<Box<dyn StepListener>> {
        Some(Box::new(Intervals {
            key: (policy.to_owned(), machine.to_owned()),
            interval,
            counts: Vec::new(),
            results: Arc::clone(&results_of),
        }))
    };
    let names: Vec<String> = results.iter().map(|one| one.policy.clone()).collect();
    listening.replay(names.iter().map(String::as_str), &[], &listener)?;
    let heard = heard
        .lock()
        .map_err(|_| Failure::failed("a replay failed"))?;
    for result in results {
        let key = (result.policy.clone(), result.machine.clone());
        result.misses_over_time = heard.get(&key).map(|counts| {
            let all = (0..trace.accesses.div_ceil(interval)).map(|at| {
                let (l1_misses, l2_misses) = counts.get(at as usize).copied().unwrap_or_default();
                MissSample {
                    time: trace.accesses.min((at + 1) * interval),
                    l1_misses,
                    l2_misses,
                }
            });
            all.collect()
        });
    }
    Ok(())
}

/// The misses of each interval, by policy and machine: of the first level, and of all levels.
type Heard = Arc<Mutex<BTreeMap<(String, String), Vec<(u64, u64)>>>>;

/// Counts the misses of a policy on a machine by interval.
struct Intervals {
    key: (String, String),
    /// The accesses of an interval.
    interval: u64,
    counts: Vec<(u64, u64)>,
    results: Heard,
}

impl StepListener for Intervals {
    fn begin(&mut self) {
        self.counts.clear();
    }

    fn step(&mut self, step: &Step, slow: SlowLookups) {
        let at = (step.visit.time / self.interval) as usize;
        if self.counts.len() <= at {
            self.counts.resize(at + 1, (0, 0));
        }
        let (l1_misses, l2_misses) = &mut self.counts[at];
        *l1_misses += slow.second_hits + slow.third_hits + slow.walks;
        *l2_misses += slow.walks;
    }

    fn end(&mut self) {
        if let Ok(mut results) = self.results.lock() {
            results.insert(self.key.clone(), std::mem::take(&mut self.counts));
        }
    }
}
