//! Sentences on the run time of a program under a policy.

use broadleaf_metrics::{
    CellResult, RunTime, RunTimeBasis, RunTimeClass, SecondsRange, TraceSummary,
};

use crate::number::{percent, short};

/// Returns a sentence on the run time under the policy of `result`, and on the origin of the
/// figures. Returns `None` if nothing is known about the run time.
pub fn run_time_sentence(
    result: &CellResult,
    baseline: &CellResult,
    trace: &TraceSummary,
) -> Option<String> {
    let run_time = result.run_time?;
    let policy = &result.policy;
    let gain = |ratio: f64| 1.0 - 1.0 / ratio;
    let [low, high] = [run_time.ratio_low, run_time.ratio_high].map(gain);
    let is_tiny = [low, high].iter().all(|gain| gain.abs() < TINY);
    let share = match (low, high) {
        _ if is_tiny => format!("change the user time by less than {}", percent(TINY)),
        // Zero less zero has no sign.
        (low, high) if high <= 0.0 => {
            format!("cost {} to {}", percent(0.0 - high), percent(0.0 - low))
        }
        (low, high) if low < 0.0 => {
            format!("cost {} to save {}", percent(-low), percent(high))
        }
        (low, high) => format!("save {} to {}", percent(low), percent(high)),
    };
    let is_measured = run_time.basis == RunTimeBasis::Measured;
    let class = match run_time.class {
        RunTimeClass::None if is_measured && low <= 0.0 && high >= 0.0 => {
            "no difference that this machine can show"
        }
        RunTimeClass::None => "no gain",
        RunTimeClass::Some => "some gain",
        RunTimeClass::Large => "a large gain",
    };
    let origin = match run_time.basis {
        RunTimeBasis::Measured => measured(&run_time),
        RunTimeBasis::Table => format!(
            "This is an estimate from a table, not a measurement: 4k makes {}.",
            density(baseline, trace)
        ),
    };
    Some(format!(
        "Run time: {class}. {policy} may {share}{} (4k takes {} times as long). {origin}",
        if is_tiny { "" } else { " of the user time" },
        ratios(&run_time),
    ))
}

/// Huge pages have little time to pay in shorter runs, in seconds.
const SHORT: f64 = 1.0;

/// Gains and losses that are smaller, as shares of the run time, are written without a number.
const TINY: f64 = 0.001;

/// Returns the range of ratios: `1.02 to 1.40`.
pub(crate) fn ratios(run_time: &RunTime) -> String {
    format!("{:.2} to {:.2}", run_time.ratio_low, run_time.ratio_high)
}

/// Returns a range of seconds: `0.53 to 0.57 s`, or one number if both ends are equal.
pub(crate) fn seconds_range(range: &SecondsRange) -> String {
    let [low, high] = [range.low, range.high].map(|seconds| format!("{seconds:.2}"));
    match low == high {
        true => format!("{low} s"),
        false => format!("{low} to {high} s"),
    }
}

/// Describes the walks with base pages, from which the table gives a cost.
fn density(baseline: &CellResult, trace: &TraceSummary) -> String {
    match baseline.whole_misses() {
        0 => "no page walk".to_owned(),
        walks => format!(
            "{} page walks, one in {} instructions, and {} hits in the {} of the TLB",
            short(walks),
            short(trace.instructions / walks),
            short(baseline.l1_misses.saturating_sub(walks)),
            if walks < baseline.l2_misses {
                "second and third level"
            } else {
                "second level"
            },
        ),
    }
}

/// Describes a measurement.
fn measured(run_time: &RunTime) -> String {
    let seconds = run_time.user_seconds.map_or(String::new(), |seconds| {
        format!(
            " It would take {:.2} s of user time ({:.2} to {:.2}).",
            seconds.middle, seconds.low, seconds.high
        )
    });
    let faults = run_time.fault_seconds.map_or(String::new(), |faults| {
        format!(
            " System time, by the costs of faults measured there: {:.3} s saved by fewer page \
             faults, {:.3} s paid to make huge pages.",
            faults.saved, faults.paid
        )
    });
    let is_short = (run_time.user_seconds).is_some_and(|seconds| seconds.middle < SHORT);
    let short = match is_short {
        true => {
            " These runs are short, and huge pages may come too late for them: measure runs of a \
             second or more."
        }
        false => "",
    };
    format!(
        "Measured: the recording holds run times of its computer with 4 KiB pages and with huge \
         pages.{seconds}{short}{faults}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(gains: [f64; 3]) -> String {
        sentence_of(RunTime::of_gains(gains, RunTimeBasis::Table))
    }

    fn sentence_of(run_time: RunTime) -> String {
        let trace = TraceSummary {
            instructions: 14_000_000,
            ..TraceSummary::default()
        };
        let baseline = CellResult {
            l1_misses: 12_000,
            l2_misses: 10_000,
            ..CellResult::default()
        };
        let result = CellResult {
            policy: "greedy".to_owned(),
            run_time: Some(run_time),
            ..CellResult::default()
        };
        run_time_sentence(&result, &baseline, &trace).expect("it is known")
    }

    #[test]
    fn an_estimate_names_its_table_and_its_inputs() {
        assert_eq!(
            sentence([0.02, 0.1, 0.2]),
            "Run time: some gain. greedy may save 2.0% to 20.0% of the user time (4k takes 1.02 \
             to 1.25 times as long). This is an estimate from a table, not a measurement: 4k \
             makes 10.0k page walks, one in 1.40k instructions, and 2.00k hits in the second level \
             of the TLB."
        );
        let measured = sentence_of(RunTime::of_gains(
            [-0.01, 0.0, 0.02],
            RunTimeBasis::Measured,
        ));
        assert!(
            measured.starts_with(
                "Run time: no difference that this machine can show. greedy may cost 1.0% to save \
                 2.0% of the user time"
            ),
            "{measured}"
        );
        assert!(sentence([-0.2, -0.1, 0.0]).contains("no gain. greedy may cost 0.0% to 20.0% of"));
        assert!(
            sentence([0.0, 0.0, 0.0004]).contains("may change the user time by less than 0.1% (4k")
        );
        assert!(sentence([-0.2, 0.1, 0.3]).contains("may cost 20.0% to save 30.0% of the user"));
        let unknown = CellResult::default();
        assert!(run_time_sentence(&unknown, &unknown, &TraceSummary::default()).is_none());
    }
}
