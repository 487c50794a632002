//! Clean pages in superpages.

use crate::metric::MetricFigure::Count;
use crate::metric::{Metric, cost};

pub(super) const FALSE_DIRTY_PAGES: Metric = cost(
    "false_dirty_pages",
    "base pages",
    "Pages never stored to, inside superpages that exist at the end of the trace and hold a \
     page with a store.",
    Count(|result| result.false_dirty_pages),
);

pub(super) const FALSE_DIRTY_PAGES_ANONYMOUS: Metric = cost(
    "false_dirty_pages_anonymous",
    "base pages",
    "The part of false_dirty_pages in superpages of anonymous memory, shared memory included.",
    Count(|result| result.false_dirty_pages_anonymous),
);

pub(super) const FALSE_DIRTY_PAGES_FILE: Metric = cost(
    "false_dirty_pages_file",
    "base pages",
    "The part of false_dirty_pages in superpages of files.",
    Count(|result| result.false_dirty_pages_file),
);

pub(super) const CLEAN_PAGES_IN_SUPERPAGES: Metric = cost(
    "clean_pages_in_superpages",
    "base pages",
    "Pages never stored to, inside superpages that exist at the end of the trace; a superpage \
     without any store counts all its pages. Zhu 2018 calls this count false dirty (tables 6.2 \
     and 6.3, per region).",
    Count(|result| result.clean_pages_in_superpages),
);

pub(super) const CLEAN_PAGES_IN_SUPERPAGES_ANONYMOUS: Metric = cost(
    "clean_pages_in_superpages_anonymous",
    "base pages",
    "The part of clean_pages_in_superpages in superpages of anonymous memory, shared memory \
     included.",
    Count(|result| result.clean_pages_in_superpages_anonymous),
);

pub(super) const CLEAN_PAGES_IN_SUPERPAGES_FILE: Metric = cost(
    "clean_pages_in_superpages_file",
    "base pages",
    "The part of clean_pages_in_superpages in superpages of files.",
    Count(|result| result.clean_pages_in_superpages_file),
);
