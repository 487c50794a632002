//! The costs of a policy by Romer, and beside OFFLINE.

use crate::metric::MetricFigure::{Parts, Ratio};
use crate::metric::{Metric, cost};

pub(super) const TLBMCPI: Metric = cost(
    "tlbmcpi",
    "cycles per instruction",
    "With --memory: the cost of a policy by Romer's measure, in three parts: miss, bookkeeping \
     and copy are walk_cycles, bookkeeping_cycles and copy_cycles divided by the trace's \
     instructions. \
     Tables show the sum, if any policy has more than the first part; CSV and Parquet have a \
     column for each. Absent if the trace does not count instructions.",
    Parts(TLBMCPI_METRICS),
);

pub(super) const TIMES_OFFLINE: Metric = cost(
    "times_offline",
    "times",
    "With --memory and the policy offline: the policy's cycles divided by those of offline, so \
     that 2 is twice as many. \
     Counted are walk_cycles, bookkeeping_cycles and promotion_cycles, or beside \
     offline(cycles=all) walk_cycles, bookkeeping_cycles, fault_cycles and daemon_cycles. With \
     several such policies, the baseline \
     is the first, which a note names. No compared policy is below 1 in unlimited memory: \
     offline makes the promotions of a policy that takes fewer cycles than its own choice. If \
     a policy is below 1 in limited memory, a note names it.",
    Ratio(|result| result.memory.as_ref()?.times_offline),
);

/// The parts of `tlbmcpi`: fields of `tlbmcpi` in JSON, and columns in CSV and Parquet.
pub const TLBMCPI_METRICS: &[Metric] = &[
    cost(
        "tlbmcpi_miss",
        "cycles per instruction",
        "The part of tlbmcpi that is walk_cycles divided by the trace's instructions: a column of \
         CSV and Parquet, and miss of tlbmcpi in JSON.",
        Ratio(|result| Some(result.memory.as_ref()?.tlbmcpi?.miss)),
    ),
    cost(
        "tlbmcpi_bookkeeping",
        "cycles per instruction",
        "The part of tlbmcpi that is bookkeeping_cycles divided by the trace's instructions: a \
         column of CSV and Parquet, and bookkeeping of tlbmcpi in JSON.",
        Ratio(|result| Some(result.memory.as_ref()?.tlbmcpi?.bookkeeping)),
    ),
    cost(
        "tlbmcpi_copy",
        "cycles per instruction",
        "The part of tlbmcpi that is copy_cycles divided by the trace's instructions: a column of \
         CSV and Parquet, and copy of tlbmcpi in JSON.",
        Ratio(|result| Some(result.memory.as_ref()?.tlbmcpi?.copy)),
    ),
];
