//! The figures of TLBs that are more than sets of ways with exact LRU replacement.

use crate::metric::{Metric, MetricFigure, cost, fact};

/// The figures of a result that only some TLBs give, in the order of its fields.
pub static TLB_METRICS: &[&Metric] = &[
    &cost(
        "l3_misses",
        "lookups",
        "Lookups that missed the third level of the TLB too; equal to `l2_misses` without one.",
        MetricFigure::OfTlb(|tlb| tlb.l3_misses),
    ),
    &cost(
        "block_misses",
        "walks",
        "Walks for a page whose block has no entry in the TLB.",
        MetricFigure::OfTlb(|tlb| tlb.block_misses),
    ),
    &cost(
        "subblock_misses",
        "walks",
        "Walks for a page whose block has an entry in the TLB, but without the page.",
        MetricFigure::OfTlb(|tlb| tlb.subblock_misses),
    ),
    &cost(
        "table_reads",
        "entries",
        "Entries of the page table that preloading and prefetching read.",
        MetricFigure::OfTlb(|tlb| tlb.table_reads),
    ),
    &cost(
        "modified_faults",
        "stores",
        "Stores that hit a translation whose modified bit was clear.",
        MetricFigure::OfTlb(|tlb| tlb.modified_faults),
    ),
    &cost(
        "marked_pages",
        "pages",
        "Pages that a modified bit for a whole TLB entry marked, without a store to the page.",
        MetricFigure::OfTlb(|tlb| tlb.marked_pages),
    ),
    &cost(
        "extra_probes",
        "probes",
        "Probes of a TLB structure for a second or later page size of one lookup.",
        MetricFigure::OfTlb(|tlb| tlb.extra_probes),
    ),
    &fact(
        "victim_hits",
        "lookups",
        "Lookups that hit a structure that holds what the level above lost.",
        MetricFigure::OfTlb(|tlb| tlb.victim_hits),
    ),
    &fact(
        "prefetch_hits",
        "lookups",
        "Lookups that hit a structure that holds prefetched translations.",
        MetricFigure::OfTlb(|tlb| tlb.prefetch_hits),
    ),
    &cost(
        "area_rbe",
        "register-bit equivalents",
        "The chip area of a machine's TLBs, if a grid is compared (Talluri 1995, section 2.2).",
        MetricFigure::Ratio(|result| result.tlb.as_ref()?.area_rbe),
    ),
];
