//! Metrics with several figures for each result.

use crate::RunTime;
use crate::metric::MetricFigure::{Parts, Ratio, Several, Word};
use crate::metric::{Metric, MetricFigure, cost, fact, gain};

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
    cost(
        "run_time_user_seconds",
        "seconds",
        "The user time under the policy; only with a measurement.",
        Ratio(|result| Some(user_seconds(result.run_time.as_ref())?.middle)),
    ),
];

const fn of_run_time(name: &'static str, sentence: &'static str, figure: MetricFigure) -> Metric {
    gain(name, "ratio", sentence, figure)
}

fn user_seconds(run_time: Option<&RunTime>) -> Option<crate::SecondsRange> {
    run_time?.user_seconds
}

pub(super) const CURVE: Metric = cost(
    "curve",
    "lookups",
    "With --curve: misses of TLBs of other geometries, each for one page size, exact LRU, the \
     set chosen by the page number's low bits.",
    Several,
);
