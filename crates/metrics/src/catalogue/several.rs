//! Metrics with several figures for each result.

use crate::metric::MetricFigure::{Parts, Ratio, Several, Word};
use crate::metric::{Metric, MetricFigure, cost, fact, gain};
use crate::{CellResult, FaultSeconds, SecondsRange};

pub(super) const REFUSALS: Metric = fact(
    "refusals",
    "decisions",
    "Decision points at which a block was not promoted, by reason.",
    Several,
);

pub(super) const RUN_TIME: Metric = gain(
    "run_time",
    "ratio",
    "The program's user time with 4 KiB pages, divided by its user time under the policy: an \
     estimate from a table, or from the times that `record --measure` measured.",
    Parts(RUN_TIME_METRICS),
);

/// The parts of `run_time` that are columns of CSV and Parquet.
pub(super) const RUN_TIME_METRICS: &[Metric] = &[
    fact(
        "run_time_class",
        "class",
        "The gain in user time: none (under 3 percent), some, or large (15 percent or more).",
        Word(|result| Some(result.run_time?.class.name())),
    ),
    of_run_time(
        "run_time_ratio_low",
        "The lowest ratio of user times that is likely.",
        Ratio(|result| Some(result.run_time?.ratio_low)),
    ),
    of_run_time(
        "run_time_ratio",
        "The ratio of user times in the middle of the range.",
        Ratio(|result| Some(result.run_time?.ratio)),
    ),
    of_run_time(
        "run_time_ratio_high",
        "The highest ratio of user times that is likely.",
        Ratio(|result| Some(result.run_time?.ratio_high)),
    ),
    fact(
        "run_time_basis",
        "origin",
        "The origin of the ratios: a table, or a measurement of the program.",
        Word(|result| Some(result.run_time?.basis.name())),
    ),
    seconds(
        "run_time_user_seconds",
        "The user time under the policy; only with a measurement.",
        Ratio(|result| Some(user_seconds(result)?.middle)),
    ),
    seconds(
        "run_time_user_seconds_low",
        "The least user time under the policy that is likely; only with a measurement.",
        Ratio(|result| Some(user_seconds(result)?.low)),
    ),
    seconds(
        "run_time_user_seconds_high",
        "The most user time under the policy that is likely; only with a measurement.",
        Ratio(|result| Some(user_seconds(result)?.high)),
    ),
    seconds(
        "run_time_system_seconds",
        "The system time under the policy: that with 4 KiB pages, less fault_seconds_saved, plus \
         zeroing_seconds_paid; only with a measurement.",
        Ratio(|result| Some(system_seconds(result)?.middle)),
    ),
    seconds(
        "run_time_system_seconds_low",
        "The least system time under the policy that is likely; only with a measurement.",
        Ratio(|result| Some(system_seconds(result)?.low)),
    ),
    seconds(
        "run_time_system_seconds_high",
        "The most system time under the policy that is likely; only with a measurement.",
        Ratio(|result| Some(system_seconds(result)?.high)),
    ),
    gain(
        "fault_seconds_saved",
        "seconds",
        "The system time of the page faults that the policy saves. The cost of a fault was \
         measured with the program. In JSON, the time is saved of fault_seconds.",
        Ratio(|result| Some(fault_seconds(result)?.saved)),
    ),
    seconds(
        "zeroing_seconds_paid",
        "The system time of making huge pages, zeroing included, by the cost that was measured \
         with the program: paid of fault_seconds in JSON.",
        Ratio(|result| Some(fault_seconds(result)?.paid)),
    ),
];

const fn of_run_time(name: &'static str, sentence: &'static str, figure: MetricFigure) -> Metric {
    gain(name, "ratio", sentence, figure)
}

const fn seconds(name: &'static str, sentence: &'static str, figure: MetricFigure) -> Metric {
    cost(name, "seconds", sentence, figure)
}

fn user_seconds(result: &CellResult) -> Option<SecondsRange> {
    result.run_time?.user_seconds
}

fn system_seconds(result: &CellResult) -> Option<SecondsRange> {
    result.run_time?.system_seconds
}

fn fault_seconds(result: &CellResult) -> Option<FaultSeconds> {
    result.run_time?.fault_seconds
}

pub(super) const CURVE: Metric = cost(
    "curve",
    "lookups",
    "With --curve: misses of TLBs of other geometries, each for one page size, exact LRU, the \
     set chosen by the page number's low bits.",
    Several,
);
