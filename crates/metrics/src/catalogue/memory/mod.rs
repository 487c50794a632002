//! The catalogue of the frame-level model's metrics.

use crate::metric::Metric;

mod samples;

pub use romer::TLBMCPI_METRICS;
pub use samples::SAMPLE_METRICS;

broadleaf_units::catalogue! {
    /// The figures of a result that only the frame-level model gives, in the order of its fields.
    /// Each sample has the figures of [`SAMPLE_METRICS`].
    pub static MEMORY_METRICS: Metric = [
        mapped::{BASE_PAGE_BYTES, PAGE_SIZES, WRITE_FAULTS, PEAK_SUPERPAGE_PAGES},
        files::{
            SWAPPED_OUT_PAGES,
            SWAPPED_IN_PAGES,
            FILE_PAGES_READ,
            READ_AROUND_PAGES,
            FILE_PAGES_WRITTEN,
            UNSAVED_FILE_PAGES,
            CACHE_HITS,
        },
        reserved::{RESERVATIONS, RESERVATIONS_BROKEN, EXTENTS_REFUSED},
        system::{KERNEL_L1_MISSES, KERNEL_WALKS, PART_FILLED_SUPERPAGES_BROKEN},
        colours::{
            OTHER_COLOUR_PAGES,
            FOREIGN_COLOUR_PAGES,
            SCATTERED_SUPERPAGES,
            FRAMES_BESIDE_SCATTERED,
        },
        copied::{COPIED_BYTES, MIGRATED_PAGES, ZEROED_PAGES, ZEROED_AHEAD_PAGES},
        cycles::{
            FAULT_CYCLES,
            WORST_FAULT_CYCLES,
            DAEMON_CYCLES,
            PROMOTION_CYCLES,
            COPY_CYCLES,
            BOOKKEEPING_CYCLES,
        },
        romer::{TLBMCPI, TIMES_OFFLINE},
        state::{FREE_CONTIGUITY, IN_SWAP_PAGES, OUT_OF_MEMORY_AFTER, AT_PEAK, OVER_TIME},
    ];
}
