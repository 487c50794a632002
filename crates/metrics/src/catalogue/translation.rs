//! Lookups of TLBs, and page walks.

use crate::metric::MetricFigure::{Count, Walks};
use crate::metric::{Metric, cost, fact};
use broadleaf_units::PageSize;

pub(super) const ACCESSES: Metric = fact(
    "accesses",
    "accesses",
    "Loads plus stores; an access that straddles two pages is one access with two \
     translations.",
    Count(|result| result.accesses),
);

pub(super) const L1_MISSES: Metric = cost(
    "l1_misses",
    "lookups",
    "Lookups that missed every first-level TLB structure.",
    Count(|result| result.l1_misses),
);

pub(super) const L2_MISSES: Metric = cost(
    "l2_misses",
    "lookups",
    "Lookups that missed the second level as well; equal to l1_misses on a machine without \
     one.",
    Count(|result| result.l2_misses),
);

pub(super) const WALKS_4K: Metric = cost(
    "walks_4k",
    "walks",
    "Page-table walks that found a 4 KiB page.",
    Walks(PageSize::SIZE_4K),
);

pub(super) const WALKS_2M: Metric = cost(
    "walks_2m",
    "walks",
    "Page-table walks that found a 2 MiB page.",
    Walks(PageSize::SIZE_2M),
);

pub(super) const WALK_CYCLES: Metric = cost(
    "walk_cycles",
    "cycles",
    "The cost of all walks by the machine's table of cycles for each page size.",
    Count(|result| result.walk_cycles),
);
