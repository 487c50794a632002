//! Counters of `perf stat -I`: a text is refused with a line inside it, or is a curve whose times
//! grow.

use broadleaf_study::perf_counters::{CounterCurve, CountersError, counters};

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match counters(text) {
        Ok(curve) => check(&curve),
        Err(error) => check_error(text, &error),
    }
}

/// Asserts the invariants of a curve.
fn check(curve: &CounterCurve) {
    let [accesses, walks, _] = &curve.events;
    assert!(!accesses.is_empty() && !walks.is_empty(), "{curve:?}");
    assert!(!curve.samples.is_empty(), "{curve:?}");
    assert!(
        curve.samples.is_sorted_by_key(|sample| sample.time),
        "{curve:?}"
    );
    for sample in &curve.samples {
        assert!(sample.accesses >= 0.0 && sample.walks >= 0.0, "{curve:?}");
    }
}

/// Asserts that the line of an error lies in the text.
fn check_error(text: &str, error: &CountersError) {
    assert!(!error.to_string().is_empty());
    if let CountersError::Line { line, .. } = error {
        assert!((1..=text.lines().count()).contains(line), "{error}");
    }
}
