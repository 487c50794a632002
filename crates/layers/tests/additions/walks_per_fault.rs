//! A made-up metric: page walks for each page fault.

use crate::metric::MetricFigure::Computed;
use crate::metric::{Metric, fact};

pub(super) const WALKS_PER_FAULT: Metric = fact(
    "walks_per_fault",
    "walks per fault",
    "Page-table walks of all page sizes divided by page_faults; absent without a fault.",
    Computed(|result| {
        let has_faults = result.page_faults > 0;
        has_faults.then(|| result.walks.total() as f64 / result.page_faults as f64)
    }),
);
