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
        // The count of saved faults is that of a kernel, which makes huge pages at faults.
        0.0 if result.faults_saved > 0 => format!(
            "saves no page fault, since the governor makes huge pages of pages that are in place, \
             and pays {paid} to make them"
        ),
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
    let system = run_time
        .system_seconds
        .map_or(0.0, |seconds| seconds.middle);
    let is_short = (run_time.user_seconds).is_some_and(|seconds| seconds.middle + system < SHORT);
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
mod tests;
