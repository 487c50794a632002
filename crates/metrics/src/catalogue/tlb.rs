//! The figures of TLBs that are more than sets of ways with exact LRU replacement.

use crate::TlbResult;
use crate::metric::{Metric, MetricFigure, cost};

/// Describes a count of a TLB, of which less is better.
const fn of_tlb(
    name: &'static str,
    unit: &'static str,
    sentence: &'static str,
    count: fn(&TlbResult) -> u64,
) -> Metric {
    cost(name, unit, sentence, MetricFigure::OfTlb(count))
}

/// The figures of a result that only some TLBs give, in the order of its fields.
pub static TLB_METRICS: &[&Metric] = &[
    &of_tlb(
        "l3_misses",
        "lookups",
        "Lookups that missed the third level of the TLB too; equal to `l2_misses` without one.",
        |tlb| tlb.l3_misses,
    ),
    &of_tlb(
        "block_misses",
        "walks",
        "Walks for a page whose block has no entry in the TLB.",
        |tlb| tlb.block_misses,
    ),
    &of_tlb(
        "subblock_misses",
        "walks",
        "Walks for a page whose block has an entry in the TLB, but without the page.",
        |tlb| tlb.subblock_misses,
    ),
    &of_tlb(
        "table_reads",
        "entries",
        "Entries of the page table that preloading and prefetching read.",
        |tlb| tlb.table_reads,
    ),
    &of_tlb(
        "modified_faults",
        "stores",
        "Stores that hit a translation whose modified bit was clear.",
        |tlb| tlb.modified_faults,
    ),
    &of_tlb(
        "marked_pages",
        "pages",
        "Pages that a modified bit for a whole TLB entry marked, without a store to the page.",
        |tlb| tlb.marked_pages,
    ),
    &of_tlb(
        "extra_probes",
        "probes",
        "Probes of a TLB structure for a second or later page size of one lookup.",
        |tlb| tlb.extra_probes,
    ),
    &Metric {
        less_is_better: None,
        ..of_tlb(
            "victim_hits",
            "lookups",
            "Lookups that hit a structure that holds what the level above lost.",
            |tlb| tlb.victim_hits,
        )
    },
    &Metric {
        less_is_better: None,
        ..of_tlb(
            "prefetch_hits",
            "lookups",
            "Lookups that hit a structure that holds prefetched translations.",
            |tlb| tlb.prefetch_hits,
        )
    },
    &Metric {
        less_is_better: None,
        ..of_tlb(
            "walk_entry_hits",
            "walks",
            "Walks that began at an entry of the page table that a lower level of the TLB holds.",
            |tlb| tlb.walk_entry_hits,
        )
    },
    &of_tlb(
        "walk_reads",
        "entries",
        "Entries of the page table that walks read on their way to the leaf, the leaf included.",
        |tlb| tlb.walk_reads,
    ),
    &Metric {
        less_is_better: None,
        ..cost(
            "walk_cache_hits",
            "walks",
            "Walks that began at an entry of the page table that a walk cache holds.",
            MetricFigure::Optional(|result| result.tlb.as_ref()?.walk_cache_hits),
        )
    },
    &cost(
        "table_nodes",
        "nodes",
        "Nodes of the page table that walks read: pages of a tree, or members of a chain.",
        MetricFigure::Optional(|result| result.tlb.as_ref()?.table_nodes),
    ),
    &cost(
        "table_most_nodes",
        "nodes",
        "The most nodes of the page table that one walk read.",
        MetricFigure::Optional(|result| result.tlb.as_ref()?.table_most_nodes),
    ),
    &cost(
        "table_lines",
        "lines",
        "Cache lines of the page table that walks read, each once a walk (`walk-lines`).",
        MetricFigure::Optional(|result| result.tlb.as_ref()?.table_lines),
    ),
    &cost(
        "table_bytes",
        "bytes",
        "The memory of the page tables at the end.",
        MetricFigure::Optional(|result| result.tlb.as_ref()?.table_bytes),
    ),
    &cost(
        "table_bytes_peak",
        "bytes",
        "The most memory of the page tables; JSON has it by level, as `table_level_bytes`.",
        MetricFigure::Optional(|result| result.tlb.as_ref()?.table_bytes_peak),
    ),
    &cost(
        "table_level_bytes",
        "bytes",
        "The memory of each level of the page tables at their peak, the base pages' first.",
        MetricFigure::Several,
    ),
    &Metric {
        less_is_better: None,
        ..cost(
            "synonym_updates",
            "pages",
            "Pages that were mapped and unmapped in the synonym table.",
            MetricFigure::Optional(|result| result.tlb.as_ref()?.synonym_updates),
        )
    },
    &cost(
        "synonym_lines",
        "lines",
        "Cache lines that updates of the synonym table read or wrote, each once an update.",
        MetricFigure::Optional(|result| result.tlb.as_ref()?.synonym_lines),
    ),
    &cost(
        "synonym_bytes",
        "bytes",
        "The memory of the synonym table at the end; pointers in entries of the page table are \
         left out if `table_bytes` has them.",
        MetricFigure::Optional(|result| result.tlb.as_ref()?.synonym_bytes),
    ),
    &cost(
        "synonym_bytes_peak",
        "bytes",
        "The most memory of the synonym table, counted as `synonym_bytes`.",
        MetricFigure::Optional(|result| result.tlb.as_ref()?.synonym_bytes_peak),
    ),
    &cost(
        "synonym_split",
        "pages",
        "Superpages that the synonym table lists page by page at the end, since other entries of \
         their frames have another size.",
        MetricFigure::Optional(|result| result.tlb.as_ref()?.synonym_split),
    ),
    &cost(
        "scatter_cycles",
        "cycles",
        "Cycles of the addition that translates a scattered superpage: one for each reference, if \
         each TLB entry has a configuration of its own. They are no part of `walk_cycles`.",
        MetricFigure::Optional(|result| result.tlb.as_ref()?.scatter_cycles),
    ),
    &cost(
        "configuration_bits",
        "bits",
        "The storage of the TLB for configurations of scattered superpages.",
        MetricFigure::Optional(|result| result.tlb.as_ref()?.configuration_bits),
    ),
    &cost(
        "area_rbe",
        "register-bit equivalents",
        "The chip area of a machine's TLBs (Talluri 1995, section 2.2). Only comparisons with a \
         grid have it; `broadleaf list tlbs --area` has the areas of every machine, and the book's \
         page on prices the formulas.",
        MetricFigure::Ratio(|result| result.tlb.as_ref()?.area_rbe),
    ),
];
