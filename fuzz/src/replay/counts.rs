//! The counts that all models have.

use std::collections::BTreeMap;

use broadleaf_metrics::CellResult;
use broadleaf_model::Outcome;
use broadleaf_oracle::OracleCounts;
use broadleaf_units::PageSize;

/// The counts of one replay. The refusals are apart, without zeroes.
#[derive(Debug, PartialEq)]
pub(super) struct FuzzCounts {
    counts: OracleCounts,
    refusals: BTreeMap<String, u64>,
}

impl FuzzCounts {
    /// The counts of the oracle.
    pub(super) fn of_oracle(mut counts: OracleCounts) -> Self {
        let refusals = std::mem::take(&mut counts.refusals).into_iter();
        let refusals = refusals.map(|(reason, count)| (reason.to_owned(), count));
        Self::new(counts, refusals)
    }

    /// The counts of the only policy and machine of a replay.
    pub(super) fn of_outcome(outcome: &Outcome) -> Self {
        let mut all = Self::all_of_outcome(outcome);
        assert_eq!(all.len(), 1, "one policy on one machine");
        all.remove(0)
    }

    /// The counts of each policy on each machine of a replay: policy by policy, the machines
    /// inside.
    pub(super) fn all_of_outcome(outcome: &Outcome) -> Vec<Self> {
        let results = outcome.results.iter();
        results
            .map(|result| {
                assert_eq!(result.walks.total(), result.l2_misses);
                let counts = OracleCounts {
                    loads: outcome.trace.loads,
                    stores: outcome.trace.stores,
                    ..counts(result)
                };
                let refusals = result.refusals.iter();
                let refusals = refusals.map(|(reason, count)| (reason.clone(), *count));
                Self::new(counts, refusals)
            })
            .collect()
    }

    fn new(counts: OracleCounts, refusals: impl Iterator<Item = (String, u64)>) -> Self {
        let refusals = refusals.filter(|(_, count)| *count > 0).collect();
        Self { counts, refusals }
    }
}

/// The counts of a result, without loads, stores and refusals.
fn counts(result: &CellResult) -> OracleCounts {
    OracleCounts {
        accesses: result.accesses,
        l1_misses: result.l1_misses,
        l2_misses: result.l2_misses,
        walks_4k: result.walks.of(PageSize::SIZE_4K),
        walks_2m: result.walks.of(PageSize::SIZE_2M),
        walk_cycles: result.walk_cycles,
        page_faults: result.page_faults,
        promotions: result.promotions,
        demotions: result.demotions,
        extra_zeroed_pages: result.extra_zeroed_pages,
        extra_disk_read_pages: result.extra_disk_read_pages,
        false_dirty_pages: result.false_dirty_pages,
        false_dirty_pages_anonymous: result.false_dirty_pages_anonymous,
        false_dirty_pages_file: result.false_dirty_pages_file,
        clean_pages_in_superpages: result.clean_pages_in_superpages,
        clean_pages_in_superpages_anonymous: result.clean_pages_in_superpages_anonymous,
        clean_pages_in_superpages_file: result.clean_pages_in_superpages_file,
        touched_pages: result.touched_pages,
        touched_pages_anonymous: result.touched_pages_anonymous,
        touched_pages_file: result.touched_pages_file,
        resident_pages: result.resident_pages,
        peak_resident_pages: result.peak_resident_pages,
        regions: result.regions,
        regions_anonymous: result.regions_anonymous,
        regions_file: result.regions_file,
        ..OracleCounts::default()
    }
}
