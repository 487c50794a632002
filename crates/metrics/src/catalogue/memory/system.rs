//! The figures of recordings of whole systems.

use crate::metric::MetricFigure::Optional;
use crate::metric::{Metric, cost, fact};

pub(super) const KERNEL_L1_MISSES: Metric = cost(
    "kernel_l1_misses",
    "lookups",
    "Lookups of the kernel's addresses that missed every first-level structure. Absent unless the \
     trace holds a whole system.",
    Optional(|result| result.memory.as_ref()?.kernel_l1_misses),
);

pub(super) const KERNEL_WALKS: Metric = cost(
    "kernel_walks",
    "walks",
    "Walks for the kernel's addresses. Absent unless the trace holds a whole system.",
    Optional(|result| result.memory.as_ref()?.kernel_walks),
);

pub(super) const PART_FILLED_SUPERPAGES_BROKEN: Metric = fact(
    "part_filled_superpages_broken",
    "superpages",
    "Superpages that the recorded kernel broke with their reservation, and that had pages which no \
     reference had used. Absent unless the trace has the kernel's reservations.",
    Optional(|result| result.memory.as_ref()?.part_filled_superpages_broken),
);
