//! The catalogue of metrics, as far as memory is modelled down to the frame.

use crate::Metric;
use crate::catalogue::{cost, fact};

/// Every figure that a result has only where memory was modelled down to the frame, in the order of its fields; those of
/// [`SAMPLE_METRICS`] stand in each sample of it.
pub const MEMORY_METRICS: &[Metric] = &[
    fact(
        "base_page_bytes",
        "bytes",
        "With --memory: how large a base page is; every count of base pages is of this size.",
    ),
    fact(
        "page_sizes",
        "mappings",
        "With --memory: pages of each size that are mapped at the end of the trace, by the size in bytes.",
    ),
    cost(
        "write_faults",
        "faults",
        "With --memory: stores to pages that were resident and were shared, a file's or the page of zeroes.",
    ),
    fact(
        "peak_superpage_pages",
        "base pages",
        "With --memory: the most base pages that ever lay inside superpages at a time.",
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
        "With --memory: pages read from files; none where --files memory says that they stand in memory.",
    ),
    cost(
        "file_pages_written",
        "base pages",
        "With --memory: changed pages of files that were written back because they had to leave memory.",
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
        "With --memory: extents that were set aside for pages to come.",
    ),
    fact(
        "reservations_broken",
        "extents",
        "With --memory: reservations that were broken because their free frames were wanted elsewhere.",
    ),
    cost(
        "extents_refused",
        "extents",
        "With --memory: extents that were wanted and were neither free nor held by reservations that could be broken.",
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
        "With --memory: frames used for zeroes that a daemon had zeroed before.",
    ),
    cost(
        "fault_cycles",
        "cycles",
        "With --memory: how long the program waited in faults, by the table of costs.",
    ),
    cost(
        "worst_fault_cycles",
        "cycles",
        "With --memory: how long it waited in the longest fault.",
    ),
    cost(
        "daemon_cycles",
        "cycles",
        "With --memory: work of daemons, for which the program did not wait.",
    ),
    cost(
        "promotion_cycles",
        "cycles",
        "With --memory: what promotions took, whoever waited: copying, zeroing, reading, and what each takes beside that. Part of the two before.",
    ),
    cost(
        "copy_cycles",
        "cycles",
        "With --memory: that part of promotion_cycles which is the price of copying: of promotions that copy the pages of a piece together, and of all under a policy that pays as if each did. \
         0 where pages are large from their first fault, or become one where they lie.",
    ),
    cost(
        "bookkeeping_cycles",
        "cycles",
        "With --memory: what it took to charge TLB misses to what would have spared them, for policies that ask for that. In no other figure of cycles.",
    ),
    cost(
        "tlbmcpi",
        "cycles per instruction",
        "With --memory: what a policy costs by Romer's measure, in three parts: miss, bookkeeping and copy are walk_cycles, bookkeeping_cycles and copy_cycles divided by the trace's instructions. \
         Tables show the sum, where any policy has more than the first part; CSV and Parquet have a column for each. Absent where the trace does not count instructions.",
    ),
    cost(
        "times_offline",
        "times",
        "With --memory and the policy offline: the policy's cycles divided by those of offline, so that 2 is twice as many. \
         Counted are walk_cycles, bookkeeping_cycles and promotion_cycles, or beside offline(cycles=all) walk_cycles, bookkeeping_cycles, fault_cycles and daemon_cycles. Where several such policies are compared it \
         is the first, which a note names. No compared policy is below 1 in unlimited memory: offline makes the promotions of a policy that takes fewer cycles than its own choice. If a policy is below 1 in limited memory, a note names it.",
    ),
    fact(
        "free_contiguity",
        "extents",
        "With --memory: free extents at the end by order, of 2^order base pages each; in samples, how many of that order could be given out.",
    ),
    fact(
        "in_swap_pages",
        "base pages",
        "With --memory: pages that stand in the swap at the end.",
    ),
    fact(
        "out_of_memory_after",
        "accesses",
        "With --memory: the access at which memory was used up; the result ends there and cannot be compared. Absent if memory sufficed.",
    ),
    fact(
        "at_peak",
        "sample",
        "With --memory: how memory stood when most was resident, to within a sixty-fourth.",
    ),
    fact(
        "over_time",
        "samples",
        "With --memory: how memory stood from time to time, and at the end.",
    ),
];

/// The figures of a sample that are not figures of a result too.
pub const SAMPLE_METRICS: &[Metric] = &[
    fact(
        "time",
        "accesses",
        "In at_peak and over_time: accesses from the beginning of the trace to the sample.",
    ),
    cost(
        "bloat_pages",
        "base pages",
        "In at_peak and over_time: resident pages that were filled by a promotion or a neighbour's fault and not referenced since.",
    ),
    fact(
        "superpage_pages",
        "base pages",
        "In at_peak and over_time: resident pages inside superpages.",
    ),
    fact(
        "free_frames",
        "base pages",
        "In at_peak and over_time: free frames without pages that could be found again. Together with the mapped, occupied, reserved, wired and file cache frames they are all frames.",
    ),
    fact(
        "mapped_frames",
        "base pages",
        "In at_peak and over_time: mapped frames, each counted once, even if several processes map it.",
    ),
    fact(
        "occupied_frames",
        "base pages",
        "In at_peak and over_time: frames that were occupied before the trace began.",
    ),
    fact(
        "reserved_frames",
        "base pages",
        "In at_peak and over_time: frames that reservations keep for pages to come.",
    ),
    fact(
        "wired_frames",
        "base pages",
        "In at_peak and over_time: frames that page tables take, with those that are kept for more of them.",
    ),
    fact(
        "file_cache_frames",
        "base pages",
        "In at_peak and over_time: frames with pages of files that no process maps. Free ones count here and not in free_frames.",
    ),
];

/// The parts of `tlbmcpi`, each of which is a field of it in JSON, and a column of its own in CSV and Parquet.
pub const TLBMCPI_METRICS: &[Metric] = &[
    cost(
        "tlbmcpi_miss",
        "cycles per instruction",
        "The part of tlbmcpi that is walk_cycles divided by the trace's instructions: a column of CSV and Parquet, and miss of tlbmcpi in JSON.",
    ),
    cost(
        "tlbmcpi_bookkeeping",
        "cycles per instruction",
        "The part of tlbmcpi that is bookkeeping_cycles divided by the trace's instructions: a column of CSV and Parquet, and bookkeeping of tlbmcpi in JSON.",
    ),
    cost(
        "tlbmcpi_copy",
        "cycles per instruction",
        "The part of tlbmcpi that is copy_cycles divided by the trace's instructions: a column of CSV and Parquet, and copy of tlbmcpi in JSON.",
    ),
];
