//! The catalogue of metrics: a name, a unit, a description and a value for each figure of a result.

use crate::metric::Metric;

mod caches;
mod memory;
mod tlb;

pub use caches::CACHE_METRICS;
pub use memory::{MEMORY_METRICS, SAMPLE_METRICS, TLBMCPI_METRICS};
pub use tlb::TLB_METRICS;

broadleaf_units::catalogue! {
    /// The figures of a result, in the order of its fields. Computed figures come last. The figures
    /// of [`TLB_METRICS`] and [`CACHE_METRICS`] follow for some machines, and those of
    /// [`MEMORY_METRICS`] if the frame-level model ran.
    pub static METRICS: Metric = [
        translation::{ACCESSES, L1_MISSES, L2_MISSES, WALKS_4K, WALKS_2M, WALK_CYCLES},
        faults::{PAGE_FAULTS, FAULTS_SAVED},
        promotion::{PROMOTIONS, DEMOTIONS, EXTRA_ZEROED_PAGES, EXTRA_DISK_READ_PAGES},
        dirty::{
            FALSE_DIRTY_PAGES,
            FALSE_DIRTY_PAGES_ANONYMOUS,
            FALSE_DIRTY_PAGES_FILE,
            CLEAN_PAGES_IN_SUPERPAGES,
            CLEAN_PAGES_IN_SUPERPAGES_ANONYMOUS,
            CLEAN_PAGES_IN_SUPERPAGES_FILE,
        },
        footprint::{
            TOUCHED_PAGES,
            TOUCHED_PAGES_ANONYMOUS,
            TOUCHED_PAGES_FILE,
            RESIDENT_PAGES,
            PEAK_RESIDENT_PAGES,
            REGIONS,
            REGIONS_ANONYMOUS,
            REGIONS_FILE,
        },
        several::{REFUSALS, RUN_TIME, CURVE},
    ];
}

/// Returns all metrics in the order of the fields; the parts of composite metrics come last.
pub fn all_metrics() -> impl Iterator<Item = &'static Metric> {
    let of_results = METRICS.iter().chain(TLB_METRICS).chain(CACHE_METRICS);
    let of_results = of_results.chain(MEMORY_METRICS);
    let of_results = of_results.copied();
    let parts = TLBMCPI_METRICS.iter().chain(several::RUN_TIME_METRICS);
    of_results.chain(SAMPLE_METRICS).chain(parts)
}

/// Returns the metric with this name.
pub fn metric(name: &str) -> Option<&'static Metric> {
    all_metrics().find(|metric| metric.name == name)
}
