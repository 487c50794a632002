//! Metrics with several figures for each result.

use crate::metric::MetricFigure::Several;
use crate::metric::{Metric, cost, fact};

pub(super) const REFUSALS: Metric = fact(
    "refusals",
    "decisions",
    "Decision points at which a block was not promoted, by reason.",
    Several,
);

pub(super) const CURVE: Metric = cost(
    "curve",
    "lookups",
    "With --curve: misses of TLBs of other geometries, each for one page size, exact LRU, the \
     set chosen by the page number's low bits.",
    Several,
);
