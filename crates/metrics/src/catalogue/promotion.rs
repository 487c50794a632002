//! Promotions, demotions, and the pages that promotions filled.

use crate::metric::MetricFigure::Count;
use crate::metric::{Metric, cost, fact};

pub(super) const PROMOTIONS: Metric = fact(
    "promotions",
    "events",
    "Promotions of blocks to superpages; a block promoted twice counts twice.",
    Count(|result| result.promotions),
);

pub(super) const DEMOTIONS: Metric = fact(
    "demotions",
    "events",
    "Superpages that were broken into base pages.",
    Count(|result| result.demotions),
);

pub(super) const EXTRA_ZEROED_PAGES: Metric = cost(
    "extra_zeroed_pages",
    "base pages",
    "Anonymous pages that a promotion filled and that were not touched before they left or the \
     trace ended.",
    Count(|result| result.extra_zeroed_pages),
);

pub(super) const EXTRA_DISK_READ_PAGES: Metric = cost(
    "extra_disk_read_pages",
    "base pages",
    "File-backed pages that a promotion filled and that were not touched before they left or \
     the trace ended; none with --files memory.",
    Count(|result| result.extra_disk_read_pages),
);
