//! Extents and reservations.

use crate::metric::MetricFigure::OfMemory;
use crate::metric::{Metric, cost, fact};

pub(super) const RESERVATIONS: Metric = fact(
    "reservations",
    "extents",
    "With --memory: extents reserved for later pages.",
    OfMemory(|memory| memory.reservations),
);

pub(super) const RESERVATIONS_BROKEN: Metric = fact(
    "reservations_broken",
    "extents",
    "With --memory: reservations that were broken because other allocations needed their free \
     frames.",
    OfMemory(|memory| memory.reservations_broken),
);

pub(super) const EXTENTS_REFUSED: Metric = cost(
    "extents_refused",
    "extents",
    "With --memory: extent allocations that failed: no extent was free, nor held by a \
     breakable reservation.",
    OfMemory(|memory| memory.extents_refused),
);
