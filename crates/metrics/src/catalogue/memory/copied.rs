//! Copied, moved and zeroed pages.

use crate::metric::MetricFigure::OfMemory;
use crate::metric::{Metric, cost, fact};

pub(super) const COPIED_BYTES: Metric = cost(
    "copied_bytes",
    "bytes",
    "With --memory: bytes copied for stores to shared pages, promotions and moves.",
    OfMemory(|memory| memory.copied_bytes),
);

pub(super) const MIGRATED_PAGES: Metric = cost(
    "migrated_pages",
    "base pages",
    "With --memory: pages moved out of the way of an extent.",
    OfMemory(|memory| memory.migrated_pages),
);

pub(super) const ZEROED_PAGES: Metric = cost(
    "zeroed_pages",
    "base pages",
    "With --memory: frames zeroed while the program waited.",
    OfMemory(|memory| memory.zeroed_pages),
);

pub(super) const ZEROED_AHEAD_PAGES: Metric = fact(
    "zeroed_ahead_pages",
    "base pages",
    "With --memory: used frames that a daemon had zeroed ahead of time.",
    OfMemory(|memory| memory.zeroed_ahead_pages),
);
