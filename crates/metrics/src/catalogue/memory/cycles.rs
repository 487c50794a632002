//! Cycles of faults, daemons, promotions and charges.

use crate::metric::MetricFigure::OfMemory;
use crate::metric::{Metric, cost};

pub(super) const FAULT_CYCLES: Metric = cost(
    "fault_cycles",
    "cycles",
    "With --memory: the time that the program waited in faults, by the table of costs.",
    OfMemory(|memory| memory.fault_cycles),
);

pub(super) const WORST_FAULT_CYCLES: Metric = cost(
    "worst_fault_cycles",
    "cycles",
    "With --memory: the time that the program waited in the longest fault.",
    OfMemory(|memory| memory.worst_fault_cycles),
);

pub(super) const DAEMON_CYCLES: Metric = cost(
    "daemon_cycles",
    "cycles",
    "With --memory: the work of daemons, during which the program did not wait.",
    OfMemory(|memory| memory.daemon_cycles),
);

pub(super) const PROMOTION_CYCLES: Metric = cost(
    "promotion_cycles",
    "cycles",
    "With --memory: the cost of promotions at faults and in daemons: copying, zeroing, \
     reading, and a fixed cost of each. Part of the two figures before.",
    OfMemory(|memory| memory.promotion_cycles),
);

pub(super) const COPY_CYCLES: Metric = cost(
    "copy_cycles",
    "cycles",
    "With --memory: the part of promotion_cycles that is the price of copying: of promotions \
     that copy the pages of a piece together, and of all under a policy that pays as if each \
     did. \
     0 if pages are large from their first fault, or become large in place.",
    OfMemory(|memory| memory.copy_cycles),
);

pub(super) const BOOKKEEPING_CYCLES: Metric = cost(
    "bookkeeping_cycles",
    "cycles",
    "With --memory: the cost of charging TLB misses to the pieces that would have prevented \
     them, for policies that request charges. Part of no other figure of cycles.",
    OfMemory(|memory| memory.bookkeeping_cycles),
);
