//! Pages read and written: the swap and files.

use crate::metric::MetricFigure::OfMemory;
use crate::metric::{Metric, cost, fact};

pub(super) const SWAPPED_OUT_PAGES: Metric = cost(
    "swapped_out_pages",
    "base pages",
    "With --memory: pages written to the swap.",
    OfMemory(|memory| memory.swapped_out_pages),
);

pub(super) const SWAPPED_IN_PAGES: Metric = cost(
    "swapped_in_pages",
    "base pages",
    "With --memory: pages read back from the swap.",
    OfMemory(|memory| memory.swapped_in_pages),
);

pub(super) const FILE_PAGES_READ: Metric = cost(
    "file_pages_read",
    "base pages",
    "With --memory: pages read from files; none with --files memory.",
    OfMemory(|memory| memory.file_pages_read),
);

pub(super) const READ_AROUND_PAGES: Metric = cost(
    "read_around_pages",
    "base pages",
    "With --memory: pages of files read in the background, around a page that faulted; part of \
     file_pages_read.",
    OfMemory(|memory| memory.read_around_pages),
);

pub(super) const FILE_PAGES_WRITTEN: Metric = cost(
    "file_pages_written",
    "base pages",
    "With --memory: changed pages of files that were written back because they had to leave \
     memory.",
    OfMemory(|memory| memory.file_pages_written),
);

pub(super) const UNSAVED_FILE_PAGES: Metric = fact(
    "unsaved_file_pages",
    "base pages",
    "With --memory: changed pages of files that still had to be written back at the end.",
    OfMemory(|memory| memory.unsaved_file_pages),
);

pub(super) const CACHE_HITS: Metric = fact(
    "cache_hits",
    "base pages",
    "With --memory: pages of files that had left and were found unchanged in a free frame.",
    OfMemory(|memory| memory.cache_hits),
);
