//! The catalogue of the frame-level model's metrics.

use crate::Metric;
use crate::catalogue::{cost, fact};

/// The figures of a result that only the frame-level model gives, in the order of its fields. Each
/// sample has the figures of [`SAMPLE_METRICS`].
pub const MEMORY_METRICS: &[Metric] = &[
    fact(
        "base_page_bytes",
        "bytes",
        "With --memory: the size of a base page; all counts of base pages use this size.",
    ),
    fact(
        "page_sizes",
        "mappings",
        "With --memory: mapped pages of each size at the end of the trace, by the size in bytes.",
    ),
    cost(
        "write_faults",
        "faults",
        "With --memory: stores to resident pages that were shared, a file's or the page of zeroes.",
    ),
    fact(
        "peak_superpage_pages",
        "base pages",
        "With --memory: the peak of base pages inside superpages.",
    ),
    cost(
        "swapped_out_pages",
        "base pages",
        "With --memory: pages written to the swap.",
    ),
    cost(
        "swapped_in_pages",
        "base pages",
        "With --memory: pages read back from the swap.",
    ),
    cost(
        "file_pages_read",
        "base pages",
        "With --memory: pages read from files; none with --files memory.",
    ),
    cost(
        "file_pages_written",
        "base pages",
        "With --memory: changed pages of files that were written back because they had to leave \
         memory.",
    ),
    fact(
        "unsaved_file_pages",
        "base pages",
        "With --memory: changed pages of files that still had to be written back at the end.",
    ),
    fact(
        "cache_hits",
        "base pages",
        "With --memory: pages of files that had left and were found unchanged in a free frame.",
    ),
    fact(
        "reservations",
        "extents",
        "With --memory: extents reserved for later pages.",
    ),
    fact(
        "reservations_broken",
        "extents",
        "With --memory: reservations that were broken because other allocations needed their free \
         frames.",
    ),
    cost(
        "extents_refused",
        "extents",
        "With --memory: extent allocations that failed: no extent was free, nor held by a \
         breakable reservation.",
    ),
    cost(
        "copied_bytes",
        "bytes",
        "With --memory: bytes copied for stores to shared pages, promotions and moves.",
    ),
    cost(
        "migrated_pages",
        "base pages",
        "With --memory: pages moved out of the way of an extent.",
    ),
    cost(
        "zeroed_pages",
        "base pages",
        "With --memory: frames zeroed while the program waited.",
    ),
    fact(
        "zeroed_ahead_pages",
        "base pages",
        "With --memory: used frames that a daemon had zeroed ahead of time.",
    ),
    cost(
        "fault_cycles",
        "cycles",
        "With --memory: the time that the program waited in faults, by the table of costs.",
    ),
    cost(
        "worst_fault_cycles",
        "cycles",
        "With --memory: the time that the program waited in the longest fault.",
    ),
    cost(
        "daemon_cycles",
        "cycles",
        "With --memory: the work of daemons, during which the program did not wait.",
    ),
    cost(
        "promotion_cycles",
        "cycles",
        "With --memory: the cost of promotions at faults and in daemons: copying, zeroing, \
         reading, and a fixed cost of each. Part of the two figures before.",
    ),
    cost(
        "copy_cycles",
        "cycles",
        "With --memory: the part of promotion_cycles that is the price of copying: of promotions \
         that copy the pages of a piece together, and of all under a policy that pays as if each \
         did. \
         0 if pages are large from their first fault, or become large in place.",
    ),
    cost(
        "bookkeeping_cycles",
        "cycles",
        "With --memory: the cost of charging TLB misses to the pieces that would have prevented \
         them, for policies that request charges. Part of no other figure of cycles.",
    ),
    cost(
        "tlbmcpi",
        "cycles per instruction",
        "With --memory: the cost of a policy by Romer's measure, in three parts: miss, bookkeeping \
         and copy are walk_cycles, bookkeeping_cycles and copy_cycles divided by the trace's \
         instructions. \
         Tables show the sum, if any policy has more than the first part; CSV and Parquet have a \
         column for each. Absent if the trace does not count instructions.",
    ),
    cost(
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
    ),
    fact(
        "free_contiguity",
        "extents",
        "With --memory: free extents at the end by order, of 2^order base pages each; in samples, \
         the number of available extents of that order.",
    ),
    fact(
        "in_swap_pages",
        "base pages",
        "With --memory: pages in the swap at the end.",
    ),
    fact(
        "out_of_memory_after",
        "accesses",
        "With --memory: the access at which memory was used up; the result ends there and cannot \
         be compared. Absent if memory sufficed.",
    ),
    fact(
        "at_peak",
        "sample",
        "With --memory: the state of memory at the peak of residency, to within a sixty-fourth.",
    ),
    fact(
        "over_time",
        "samples",
        "With --memory: the state of memory at intervals, and at the end.",
    ),
];

/// The figures of a sample that a result does not have.
pub const SAMPLE_METRICS: &[Metric] = &[
    fact(
        "time",
        "accesses",
        "In at_peak and over_time: accesses from the beginning of the trace to the sample.",
    ),
    cost(
        "bloat_pages",
        "base pages",
        "In at_peak and over_time: resident pages that were filled by a promotion or a neighbour's \
         fault and not referenced since.",
    ),
    fact(
        "superpage_pages",
        "base pages",
        "In at_peak and over_time: resident pages inside superpages.",
    ),
    fact(
        "free_frames",
        "base pages",
        "In at_peak and over_time: free frames without reusable pages. Together with the mapped, \
         occupied, reserved, wired and file cache frames they are all frames.",
    ),
    fact(
        "mapped_frames",
        "base pages",
        "In at_peak and over_time: mapped frames, each counted once, even if several processes map \
         it.",
    ),
    fact(
        "occupied_frames",
        "base pages",
        "In at_peak and over_time: frames that were occupied before the trace began.",
    ),
    fact(
        "reserved_frames",
        "base pages",
        "In at_peak and over_time: frames that reservations keep for later pages.",
    ),
    fact(
        "wired_frames",
        "base pages",
        "In at_peak and over_time: frames of page tables, and frames kept for more page tables.",
    ),
    fact(
        "file_cache_frames",
        "base pages",
        "In at_peak and over_time: frames with pages of files that no process maps. Free frames \
         with such pages count here and not in free_frames.",
    ),
];

/// The parts of `tlbmcpi`: fields of `tlbmcpi` in JSON, and columns in CSV and Parquet.
pub const TLBMCPI_METRICS: &[Metric] = &[
    cost(
        "tlbmcpi_miss",
        "cycles per instruction",
        "The part of tlbmcpi that is walk_cycles divided by the trace's instructions: a column of \
         CSV and Parquet, and miss of tlbmcpi in JSON.",
    ),
    cost(
        "tlbmcpi_bookkeeping",
        "cycles per instruction",
        "The part of tlbmcpi that is bookkeeping_cycles divided by the trace's instructions: a \
         column of CSV and Parquet, and bookkeeping of tlbmcpi in JSON.",
    ),
    cost(
        "tlbmcpi_copy",
        "cycles per instruction",
        "The part of tlbmcpi that is copy_cycles divided by the trace's instructions: a column of \
         CSV and Parquet, and copy of tlbmcpi in JSON.",
    ),
];
