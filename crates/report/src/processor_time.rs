//! The processor time under a policy, where a measurement gives user time and system time.

use std::cmp::Ordering;

use broadleaf_metrics::{CellResult, SecondsRange};

use crate::number::percent;

/// Returns the processor time that a policy saves over base pages, as a share of the time with base
/// pages: the least, the middle and the most. Returns `None` if a time was not measured.
pub(crate) fn processor_time_saved(result: &CellResult, baseline: &CellResult) -> Option<[f64; 3]> {
    let [user, system] = times(result)?;
    let [base_user, base_system] = times(baseline)?;
    let base = base_user.middle + base_system.middle;
    // Runs of any policy have the same system time beside page faults, so its spread cancels out.
    let saved = |time: fn(&SecondsRange) -> f64| {
        let after = time(&user) + time(&system) - time(&base_system);
        (base_user.middle - after) / base
    };
    let middle = saved(|range| range.middle);
    // No time is below zero, so the ends of a range may be on one side.
    let shares = [
        saved(|range| range.high).min(middle),
        middle,
        saved(|range| range.low).max(middle),
    ];
    (base > 0.0).then_some(shares)
}

/// Returns the seconds of user and system time together, in the middle of their ranges.
pub(crate) fn processor_seconds(result: &CellResult) -> Option<f64> {
    Some(times(result)?.map(|range| range.middle).iter().sum())
}

/// Returns true if the processor time under a policy is known.
pub(crate) fn is_timed(result: &CellResult) -> bool {
    times(result).is_some()
}

/// Compares two results by their processor times. Unknown times are equal to all others.
pub(crate) fn by_time(one: &CellResult, other: &CellResult) -> Ordering {
    let seconds = |of| processor_seconds(of).unwrap_or_default();
    seconds(one).total_cmp(&seconds(other))
}

/// Describes a saved share of the processor time: `12.0% less processor time`.
pub(crate) fn saved_time(share: f64) -> String {
    let direction = if share < 0.0 { "more" } else { "less" };
    format!("{} {direction} processor time", percent(share.abs()))
}

fn times(result: &CellResult) -> Option<[SecondsRange; 2]> {
    let run_time = result.run_time?;
    Some([run_time.user_seconds?, run_time.system_seconds?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_metrics::{RunTime, RunTimeBasis};

    fn timed(user: [f64; 3], system: Option<[f64; 3]>) -> CellResult {
        let range = |[low, middle, high]: [f64; 3]| SecondsRange { low, middle, high };
        CellResult {
            run_time: Some(RunTime {
                user_seconds: Some(range(user)),
                system_seconds: system.map(range),
                ..RunTime::of_gains([0.0; 3], RunTimeBasis::Measured)
            }),
            ..CellResult::default()
        }
    }

    #[test]
    fn user_and_system_time_count_alike() {
        let base = timed([1.5; 3], Some([0.4, 0.5, 0.7]));
        let huge = timed([1.0, 1.1, 1.2], Some([0.5, 0.6, 0.8]));
        let saved = processor_time_saved(&huge, &base).expect("both are known");
        for (found, expected) in saved.into_iter().zip([0.1, 0.15, 0.2]) {
            assert!((found - expected).abs() < 1e-9, "{saved:?}");
        }
        let none = processor_time_saved(&base, &base).expect("it is known");
        assert!(none.iter().all(|share| share.abs() < 1e-9), "{none:?}");
        assert_eq!(by_time(&huge, &base), Ordering::Less);
        assert_eq!(saved_time(0.15), "15.0% less processor time");
        assert_eq!(saved_time(-0.15), "15.0% more processor time");
    }

    #[test]
    fn a_time_that_was_not_measured_is_not_known() {
        let base = timed([1.5; 3], Some([0.5; 3]));
        let without_system = timed([1.0; 3], None);
        let unknown = CellResult::default();
        for result in [&without_system, &unknown] {
            assert_eq!(processor_time_saved(result, &base), None);
            assert_eq!(processor_time_saved(&base, result), None);
        }
        assert!(is_timed(&base) && !is_timed(&without_system));
    }
}
