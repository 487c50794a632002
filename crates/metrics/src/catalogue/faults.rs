//! Page faults.

use crate::metric::MetricFigure::{Count, Difference};
use crate::metric::{Metric, cost, gain};

pub(super) const PAGE_FAULTS: Metric = cost(
    "page_faults",
    "faults",
    "References to pages that were not resident.",
    Count(|result| result.page_faults),
);

pub(super) const FAULTS_SAVED: Metric = gain(
    "faults_saved",
    "faults",
    "Page faults of the policy 4k on the same trace less those of this policy.",
    Difference(|result| result.faults_saved),
);
