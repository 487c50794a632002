//! The state of memory, at the end and in samples.

use crate::metric::MetricFigure::{OfMemory, Optional, Several};
use crate::metric::{Metric, fact};

pub(super) const FREE_CONTIGUITY: Metric = fact(
    "free_contiguity",
    "extents",
    "With --memory: free extents at the end by order, of 2^order base pages each; in samples, \
     the number of available extents of that order.",
    Several,
);

pub(super) const IN_SWAP_PAGES: Metric = fact(
    "in_swap_pages",
    "base pages",
    "With --memory: pages in the swap at the end.",
    OfMemory(|memory| memory.in_swap_pages),
);

pub(super) const OUT_OF_MEMORY_AFTER: Metric = fact(
    "out_of_memory_after",
    "accesses",
    "With --memory: the access at which memory was used up; the result ends there and cannot \
     be compared. Absent if memory sufficed.",
    Optional(|result| result.memory.as_ref()?.out_of_memory_after),
);

pub(super) const AT_PEAK: Metric = fact(
    "at_peak",
    "sample",
    "With --memory: the state of memory at the peak of residency, to within a sixty-fourth.",
    Several,
);

pub(super) const OVER_TIME: Metric = fact(
    "over_time",
    "samples",
    "With --memory: the state of memory at intervals, and at the end.",
    Several,
);
