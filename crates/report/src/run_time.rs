//! Sentences on the run time of a program under a policy.

use broadleaf_metrics::{
    CellResult, RunTime, RunTimeBasis, RunTimeClass, SecondsRange, TraceSummary,
};

use crate::advice::lost_cycles;
use crate::judging::Judging;
use crate::number::{percent, short};

/// Returns a sentence on the run time under the policy of `result`, and on the origin of the
/// figures. If the trace holds samples, the sentence says why there is no estimate. Returns `None`
/// if nothing is known about the run time.
pub fn run_time_sentence(
    result: &CellResult,
    baseline: &CellResult,
    trace: &TraceSummary,
) -> Option<String> {
    if trace.samples {
        return Some(
            "Run time: no estimate. The trace holds samples, and the page walks between two \
             samples are not known. Record the program, or measure it (broadleaf run --baseline)."
                .to_owned(),
        );
    }
    let run_time = result.run_time?;
    let policy = &result.policy;
    if let Some(reason) = sameness(result, baseline) {
        let origin = match run_time.basis {
            RunTimeBasis::Measured => {
                format!("so the model has no difference. {}", measured(&run_time))
            }
            RunTimeBasis::Table => "so an estimate from a table has no difference.".to_owned(),
        };
        return Some(format!("Run time: as with 4k. {policy} {reason}, {origin}"));
    }
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
            format!(
                "cost up to {} or save up to {}",
                percent(-low),
                percent(high)
            )
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

/// Returns a sentence on the system time under the policy of `result`: page faults saved and huge
/// pages made. Returns `None` if their costs are not known.
pub(crate) fn page_faults_sentence(result: &CellResult) -> Option<String> {
    let run_time = result.run_time?;
    let (faults, system) = (run_time.fault_seconds?, run_time.system_seconds?);
    let seconds = |seconds: f64| format!("{seconds:.3} s");
    let paid = seconds(faults.paid);
    let change = match faults.saved {
        0.0 if faults.paid == 0.0 => "saves no page fault and makes no huge page".to_owned(),
        saved if saved < 0.0 => format!(
            "spends {} on more page faults and pays {paid} to make and zero huge pages",
            seconds(-saved)
        ),
        saved => format!(
            "saves {} by fewer page faults and pays {paid} to make and zero huge pages",
            seconds(saved)
        ),
    };
    Some(format!(
        "Page faults: {} {change}, by costs that were measured beside the runs. The system time \
         would be {} ({}).",
        result.policy,
        seconds(system.middle),
        seconds_range(&system, 3)
    ))
}

/// Returns a sentence on the cycles of faults and bookkeeping, where they alone decide against a
/// gain of user time. Returns `None` if they do not, or if the seconds of faults are known.
pub(crate) fn deciding_faults(result: &CellResult, baseline: &CellResult) -> Option<String> {
    let run_time = result.run_time?;
    let has_gain = run_time.class != RunTimeClass::None && run_time.fault_seconds.is_none();
    let without = |of: &CellResult| CellResult {
        memory: None,
        ..of.clone()
    };
    let (walks_alone, base_alone) = (without(result), without(baseline));
    let gains = |of: &CellResult, base| Judging::new(&[of], base, &|_| true).gains(of);
    let decide = has_gain && gains(&walks_alone, &base_alone) && !gains(result, baseline);
    let beside = |of: &CellResult| short(lost_cycles(of).saturating_sub(of.walk_cycles));
    decide.then(|| {
        format!(
            "This leaves out page faults and bookkeeping, which take {} cycles instead of {}; the \
             walks that {} saves take {}.",
            beside(result),
            beside(baseline),
            result.policy,
            short(baseline.walk_cycles.saturating_sub(result.walk_cycles)),
        )
    })
}

/// Returns the reason why a policy has the run time of `baseline` in the model, if it has.
fn sameness(result: &CellResult, baseline: &CellResult) -> Option<&'static str> {
    let misses = |of: &CellResult| (of.l1_misses, of.whole_misses(), of.walks.clone());
    let run_time = result.run_time?;
    let is_level = run_time.ratio == 1.0;
    // A policy beyond the end with base pages has the time of that end.
    let has_no_fewer =
        result.l1_misses >= baseline.l1_misses && result.whole_misses() >= baseline.whole_misses();
    if misses(result) == misses(baseline) {
        Some("has the TLB misses of 4k")
    } else if is_level && result.promotions == 0 {
        Some("makes no huge page here")
    } else if is_level && has_no_fewer && run_time.basis == RunTimeBasis::Measured {
        Some("has no fewer TLB misses than 4k")
    } else {
        None
    }
}

/// Huge pages have little time to pay in shorter runs, in seconds.
const SHORT: f64 = 1.0;

/// Gains and losses that are smaller, as shares of the run time, are written without a number.
const TINY: f64 = 0.001;

/// Returns the range of ratios: `1.02 to 1.40`.
pub(crate) fn ratios(run_time: &RunTime) -> String {
    format!("{:.2} to {:.2}", run_time.ratio_low, run_time.ratio_high)
}

/// Returns a range of seconds with this number of decimals: `0.53 to 0.57 s`. Equal ends give one
/// number.
pub(crate) fn seconds_range(range: &SecondsRange, decimals: usize) -> String {
    let [low, high] = [range.low, range.high].map(|seconds| format!("{seconds:.decimals$}"));
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
         pages.{seconds}{short}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(gains: [f64; 3]) -> String {
        sentence_of(RunTime::of_gains(gains, RunTimeBasis::Table))
    }

    fn seconds(low: f64, middle: f64, high: f64) -> Option<SecondsRange> {
        Some(SecondsRange { low, middle, high })
    }

    /// No run of a program shows that a policy without huge pages changes nothing: the model does.
    #[test]
    fn a_policy_with_the_misses_of_base_pages_is_no_measured_difference() {
        let sentence = |l1_misses, promotions| {
            let baseline = CellResult {
                l1_misses: 12_000,
                ..CellResult::default()
            };
            let run_time = RunTime {
                user_seconds: seconds(1.9, 2.0, 2.1),
                ..RunTime::of_gains([-0.05, 0.0, 0.05], RunTimeBasis::Measured)
            };
            let result = CellResult {
                policy: "pop-512".to_owned(),
                l1_misses,
                promotions,
                run_time: Some(run_time),
                ..CellResult::default()
            };
            run_time_sentence(&result, &baseline, &TraceSummary::default()).expect("it is known")
        };
        let same = sentence(12_000, 3);
        assert!(
            same.starts_with("Run time: as with 4k. pop-512 has the TLB misses of 4k, so the"),
            "{same}"
        );
        assert!(same.contains("2.00 s of user time"), "{same}");
        assert!(!same.contains("this machine can show"), "{same}");
        assert!(sentence(13_000, 0).contains("pop-512 makes no huge page here"));
        let beyond = sentence(13_000, 3);
        assert!(
            beyond.starts_with("Run time: as with 4k. pop-512 has no fewer TLB misses than 4k, so"),
            "{beyond}"
        );
        assert!(!beyond.contains("this machine can show"), "{beyond}");
        assert!(sentence(11_000, 3).contains("no difference that this machine can show"));
    }

    #[test]
    fn page_faults_have_a_sentence_of_their_own() {
        let sentence_of = |saved, paid, system_seconds| {
            let run_time = RunTime {
                system_seconds,
                fault_seconds: Some(broadleaf_metrics::FaultSeconds { saved, paid }),
                ..RunTime::of_gains([0.0; 3], RunTimeBasis::Measured)
            };
            page_faults_sentence(&CellResult {
                policy: "greedy".to_owned(),
                run_time: Some(run_time),
                ..CellResult::default()
            })
        };
        let sentence = |saved, system| sentence_of(saved, 0.05, system);
        let system = seconds(0.2, 0.25, 0.3);
        let none = sentence_of(0.0, 0.0, system).expect("it is known");
        assert!(
            none.starts_with("Page faults: greedy saves no page fault and makes no huge page, by"),
            "{none}"
        );
        assert_eq!(
            sentence(0.1, system).as_deref(),
            Some(
                "Page faults: greedy saves 0.100 s by fewer page faults and pays 0.050 s to make \
                 and zero huge pages, by costs that were measured beside the runs. The system \
                 time would be 0.250 s (0.200 to 0.300 s)."
            )
        );
        let more = sentence(-0.1, system).expect("it is known");
        assert!(
            more.contains("greedy spends 0.100 s on more page faults and pays"),
            "{more}"
        );
        assert_eq!(sentence(0.1, None), None);
        let result = CellResult {
            run_time: Some(RunTime {
                user_seconds: seconds(1.0, 1.0, 1.0),
                fault_seconds: None,
                ..RunTime::of_gains([0.0; 3], RunTimeBasis::Measured)
            }),
            ..CellResult::default()
        };
        assert_eq!(page_faults_sentence(&result), None);
        assert!(!measured(&result.run_time.expect("set")).contains("ystem time"));
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
            promotions: 1,
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
                "Run time: no difference that this machine can show. greedy may cost up to \
                 1.0% or save up to 2.0% of the user time"
            ),
            "{measured}"
        );
        assert!(sentence([-0.2, -0.1, 0.0]).contains("no gain. greedy may cost 0.0% to 20.0% of"));
        assert!(
            sentence([0.0, 0.0, 0.0004]).contains("may change the user time by less than 0.1% (4k")
        );
        assert!(
            sentence([-0.2, 0.1, 0.3])
                .contains("may cost up to 20.0% or save up to 30.0% of the user")
        );
        let unknown = CellResult::default();
        assert!(run_time_sentence(&unknown, &unknown, &TraceSummary::default()).is_none());
        let samples = TraceSummary {
            samples: true,
            ..TraceSummary::default()
        };
        let said = run_time_sentence(&unknown, &unknown, &samples).expect("the reason");
        assert!(said.starts_with("Run time: no estimate. The trace holds samples"));
    }

    #[test]
    fn faults_that_decide_against_a_gain_are_named() {
        let result = |policy: &str, walk_cycles, fault_cycles| CellResult {
            policy: policy.to_owned(),
            accesses: 1_000_000,
            walk_cycles,
            memory: Some(broadleaf_metrics::MemoryResult {
                fault_cycles,
                ..broadleaf_metrics::MemoryResult::default()
            }),
            ..CellResult::default()
        };
        let said = |faults: [u64; 2], gain| {
            let with = CellResult {
                run_time: Some(RunTime::of_gains([gain; 3], RunTimeBasis::Table)),
                ..result("greedy", 100_000, faults[1])
            };
            deciding_faults(&with, &result("4k", 9_000_000, faults[0]))
        };
        assert_eq!(
            said([1_000_000, 20_000_000], 0.2).as_deref(),
            Some(
                "This leaves out page faults and bookkeeping, which take 20.0M cycles instead of \
                 1.00M; the walks that greedy saves take 8.90M."
            )
        );
        // The saved walks are less than a hundredth of all cycles.
        let hidden = said([2_000_000_000, 2_000_001_000], 0.2).expect("faults decide");
        assert!(
            hidden.contains("take 2.00G cycles instead of 2.00G"),
            "{hidden}"
        );
        assert_eq!(said([1_000_000, 20_000_000], 0.01), None);
        assert_eq!(said([1_000_000, 2_000_000], 0.2), None);
    }
}
