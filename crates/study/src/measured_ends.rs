//! The run times of a program with base pages and with huge pages, from a trace's header.

use broadleaf_metrics::percentiles;
use broadleaf_report::change_sentence;
use broadleaf_trace::{EndRun, MeasuredEnds};

/// Huge pages have little time to pay in runs of less processor time, in seconds.
const SHORT: f64 = 1.0;
/// The end of a sentence on a measurement of such runs.
const SHORT_HINT: &str = ". Huge pages may come too late for runs so short: measure a second or \
                          more";

/// A measurement in numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct EndsSummary {
    /// The saved share of the user time: tenth percentile, median and ninetieth percentile.
    pub(crate) gains: [f64; 3],
    /// The median user time with base pages, in seconds.
    pub(crate) base_seconds: f64,
    /// The system time with base pages, in seconds: tenth percentile, median and ninetieth
    /// percentile.
    pub(crate) base_system: [f64; 3],
}

/// Summarizes a measurement. Returns `None` without rounds, or if no user time was spent.
pub(crate) fn summary(measured: &MeasuredEnds) -> Option<EndsSummary> {
    let user = |run: &EndRun| run.user_micros as f64 * 1e-6;
    let system = |run: &EndRun| run.system_micros as f64 * 1e-6;
    Some(EndsSummary {
        gains: percentiles(&saved(measured, user))?,
        base_seconds: spread(measured, 0, user)?[1],
        base_system: spread(measured, 0, system)?,
    })
}

/// Returns the share of the processor time that all huge pages saved: tenth percentile, median and
/// ninetieth percentile. Returns `None` if no time was spent.
pub(crate) fn processor_time_saved(measured: &MeasuredEnds) -> Option<[f64; 3]> {
    let processor = |run: &EndRun| (run.user_micros + run.system_micros) as f64;
    percentiles(&saved(measured, processor))
}

/// Returns the saved share of a time, for each round with some of it.
fn saved(measured: &MeasuredEnds, of: impl Fn(&EndRun) -> f64) -> Vec<f64> {
    let rounds = measured.rounds.iter().filter(|[base, _]| of(base) > 0.0);
    rounds
        .map(|[base, huge]| 1.0 - of(huge) / of(base))
        .collect()
}

/// Returns the tenth percentile, the median and the ninetieth percentile of a figure over the
/// rounds, at one end.
fn spread(measured: &MeasuredEnds, end: usize, of: impl Fn(&EndRun) -> f64) -> Option<[f64; 3]> {
    let values: Vec<f64> = measured
        .rounds
        .iter()
        .map(|round| of(&round[end]))
        .collect();
    percentiles(&values)
}

/// Describes a measurement in a sentence.
pub fn measured_sentence(measured: &MeasuredEnds) -> String {
    let user = |run: &EndRun| run.user_micros as f64 * 1e-6;
    let system = |run: &EndRun| run.system_micros as f64 * 1e-6;
    let of = |name: &str, of: &dyn Fn(&EndRun) -> f64| {
        let change = match percentiles(&saved(measured, of)) {
            Some(gains) => change_sentence(gains),
            None => "nothing to compare".to_owned(),
        };
        let at = |end| spread(measured, end, of).map_or(0.0, |[_, middle, _]| middle);
        format!(
            "{name} time {:.3} s, with huge pages {:.3} s: {change}",
            at(0),
            at(1)
        )
    };
    let processor = |run: &EndRun| user(run) + system(run);
    let is_short = spread(measured, 0, processor).is_some_and(|[_, middle, _]| middle < SHORT);
    let hint = if is_short { SHORT_HINT } else { "" };
    format!(
        "{}; {} ({} rounds){hint}",
        of("user", &user),
        of("system", &system),
        measured.rounds.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_is_compared_with_itself() {
        let run = |user_micros, system_micros| EndRun {
            user_micros,
            system_micros,
            ..EndRun::default()
        };
        let measured = MeasuredEnds {
            // The second round is on a slower machine.
            rounds: vec![
                [run(1_000_000, 0), run(800_000, 0)],
                [run(2_000_000, 0), run(1_600_000, 0)],
            ],
            ..MeasuredEnds::default()
        };
        let found = summary(&measured).unwrap();
        for gain in found.gains {
            assert!((gain - 0.2).abs() < 1e-9);
        }
        assert!((found.base_seconds - 1.5).abs() < 1e-9);
        assert_eq!(found.base_system, [0.0; 3]);
        let all = processor_time_saved(&measured).unwrap();
        assert!(
            all.iter().all(|share| (share - 0.2).abs() < 1e-9),
            "{all:?}"
        );
        let said = measured_sentence(&measured);
        assert_eq!(
            said,
            "user time 1.500 s, with huge pages 1.200 s: 20.0% less (20.0% to 20.0%); system time \
             0.000 s, with huge pages 0.000 s: nothing to compare (2 rounds)"
        );
        assert_eq!(summary(&MeasuredEnds::default()), None);
        let short = MeasuredEnds {
            rounds: vec![[run(100_000, 0), run(80_000, 0)]],
            ..MeasuredEnds::default()
        };
        assert!(measured_sentence(&short).ends_with("measure a second or more"));
    }
}
