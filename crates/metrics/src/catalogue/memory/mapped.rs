//! Base pages, page sizes, and stores to shared pages.

use crate::metric::MetricFigure::{OfMemory, Several};
use crate::metric::{Metric, cost, fact};

pub(super) const BASE_PAGE_BYTES: Metric = fact(
    "base_page_bytes",
    "bytes",
    "With --memory: the size of a base page; all counts of base pages use this size.",
    OfMemory(|memory| memory.base_page_bytes),
);

pub(super) const PAGE_SIZES: Metric = fact(
    "page_sizes",
    "mappings",
    "With --memory: mapped pages of each size at the end of the trace, by the size in bytes.",
    Several,
);

pub(super) const WRITE_FAULTS: Metric = cost(
    "write_faults",
    "faults",
    "With --memory: stores to resident pages that were shared, a file's or the page of zeroes.",
    OfMemory(|memory| memory.write_faults),
);

pub(super) const PEAK_SUPERPAGE_PAGES: Metric = fact(
    "peak_superpage_pages",
    "base pages",
    "With --memory: the peak of base pages inside superpages.",
    OfMemory(|memory| memory.peak_superpage_pages),
);
