//! The tables of recordings that hold run times.

use super::*;
use broadleaf_metrics::{FaultSeconds, RunTime, RunTimeBasis, SecondsRange};

#[test]
fn system_time_has_a_column_and_a_paragraph_if_it_is_known() {
    let mut comparison = sample();
    let range = |low, middle, high| Some(SecondsRange { low, middle, high });
    for (result, saved) in comparison.results.iter_mut().zip([0.0, 0.0, 0.02, 0.02]) {
        let gain = saved * 10.0;
        result.run_time = Some(RunTime {
            user_seconds: match saved > 0.0 {
                true => range(1.0, 1.2, 1.4),
                false => range(1.5, 1.5, 1.5),
            },
            system_seconds: range(0.1, 0.2 - saved, 0.3),
            fault_seconds: Some(FaultSeconds { saved, paid: 0.01 }),
            ..RunTime::of_gains([gain; 3], RunTimeBasis::Measured)
        });
    }
    let text = |comparison: &mut Comparison| {
        let references = comparison.results[..2].to_vec();
        let context = Context {
            references: &references,
            can_be_run: &|_| true,
            by_walks: &[],
        };
        comparison.advice = recommendations(comparison, &context);
        comparison_table(comparison, &context, View::default())
    };
    let known = text(&mut comparison);
    assert!(known.contains(" system time "), "{known}");
    assert!(
        known.contains("1.00 to 1.40 s  0.100 to 0.300 s"),
        "{known}"
    );
    assert!(
        known.contains("\nPage faults: pop-64 saves 0.020 s"),
        "{known}"
    );
    for result in &mut comparison.results {
        if let Some(run_time) = &mut result.run_time {
            (run_time.system_seconds, run_time.fault_seconds) = (None, None);
        }
    }
    let unknown = text(&mut comparison);
    assert!(unknown.contains("user time"), "{unknown}");
    assert!(!unknown.contains("system time"), "{unknown}");
    assert!(!unknown.contains("Page faults:"), "{unknown}");
}
