//! Metrics of samples.

use crate::metric::MetricFigure::OfSample;
use crate::metric::{Metric, cost, fact};

/// The figures of a sample that a result does not have.
pub const SAMPLE_METRICS: &[Metric] = &[
    fact(
        "time",
        "accesses",
        "In at_peak and over_time: accesses from the beginning of the trace to the sample.",
        OfSample,
    ),
    cost(
        "bloat_pages",
        "base pages",
        "In at_peak and over_time: resident pages that were filled by a promotion or a neighbour's \
         fault and not referenced since.",
        OfSample,
    ),
    fact(
        "superpage_pages",
        "base pages",
        "In at_peak and over_time: resident pages inside superpages.",
        OfSample,
    ),
    fact(
        "free_frames",
        "base pages",
        "In at_peak and over_time: free frames without reusable pages. Together with the mapped, \
         occupied, reserved, wired and file cache frames they are all frames.",
        OfSample,
    ),
    fact(
        "mapped_frames",
        "base pages",
        "In at_peak and over_time: mapped frames, each counted once, even if several processes map \
         it.",
        OfSample,
    ),
    fact(
        "occupied_frames",
        "base pages",
        "In at_peak and over_time: frames that were occupied before the trace began.",
        OfSample,
    ),
    fact(
        "reserved_frames",
        "base pages",
        "In at_peak and over_time: frames that reservations keep for later pages.",
        OfSample,
    ),
    fact(
        "wired_frames",
        "base pages",
        "In at_peak and over_time: frames of page tables, and frames kept for more page tables.",
        OfSample,
    ),
    fact(
        "file_cache_frames",
        "base pages",
        "In at_peak and over_time: frames with pages of files that no process maps. Free frames \
         with such pages count here and not in free_frames.",
        OfSample,
    ),
];
