//! Touched and resident pages, and blocks.

use crate::metric::MetricFigure::Count;
use crate::metric::{Metric, cost, fact};

pub(super) const TOUCHED_PAGES: Metric = fact(
    "touched_pages",
    "base pages",
    "Distinct base pages that the program referenced or the kernel populated.",
    Count(|result| result.touched_pages),
);

pub(super) const TOUCHED_PAGES_ANONYMOUS: Metric = fact(
    "touched_pages_anonymous",
    "base pages",
    "The part of touched_pages that mapped no file at the first reference.",
    Count(|result| result.touched_pages_anonymous),
);

pub(super) const TOUCHED_PAGES_FILE: Metric = fact(
    "touched_pages_file",
    "base pages",
    "The part of touched_pages that mapped a file at the first reference.",
    Count(|result| result.touched_pages_file),
);

pub(super) const RESIDENT_PAGES: Metric = cost(
    "resident_pages",
    "base pages",
    "Base-page frames held at the end of the trace, including those filled by promotions.",
    Count(|result| result.resident_pages),
);

pub(super) const PEAK_RESIDENT_PAGES: Metric = cost(
    "peak_resident_pages",
    "base pages",
    "The peak of base-page frames held.",
    Count(|result| result.peak_resident_pages),
);

pub(super) const REGIONS: Metric = fact(
    "regions",
    "blocks",
    "Superpage-aligned blocks that the program referenced.",
    Count(|result| result.regions),
);

pub(super) const REGIONS_ANONYMOUS: Metric = fact(
    "regions_anonymous",
    "blocks",
    "The part of regions whose first referenced page mapped no file at that time.",
    Count(|result| result.regions_anonymous),
);

pub(super) const REGIONS_FILE: Metric = fact(
    "regions_file",
    "blocks",
    "The part of regions whose first referenced page mapped a file at that time.",
    Count(|result| result.regions_file),
);
