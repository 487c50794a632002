//! The figures that model and oracle are compared by.

use broadleaf_metrics::CellResult;
use broadleaf_oracle::OracleCounts as Counts;
use broadleaf_units::PageSize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The names of counts, and of refusals with `refused:` before them, with their numbers; zeroes
/// left out.
pub(super) type CountsByName = BTreeMap<String, i64>;

fn figures(list: &[(&str, i64)], refusals: impl Iterator<Item = (String, u64)>) -> CountsByName {
    let refusals = refusals.map(|(reason, count)| (format!("refused: {reason}"), count as i64));
    let counts = list.iter().map(|&(name, count)| (name.to_string(), count));
    counts
        .chain(refusals)
        .filter(|&(_, count)| count != 0)
        .collect()
}

pub(super) fn figures_of_engine(result: &CellResult, loads: u64, stores: u64) -> CountsByName {
    assert_eq!(result.walks.total(), result.l2_misses);
    figures(
        &[
            ("accesses", result.accesses as i64),
            ("loads", loads as i64),
            ("stores", stores as i64),
            ("l1_misses", result.l1_misses as i64),
            ("l2_misses", result.l2_misses as i64),
            ("walks_4k", result.walks.of(PageSize::SIZE_4K) as i64),
            ("walks_2m", result.walks.of(PageSize::SIZE_2M) as i64),
            ("walk_cycles", result.walk_cycles as i64),
            ("page_faults", result.page_faults as i64),
            ("faults_saved", result.faults_saved),
            ("promotions", result.promotions as i64),
            ("demotions", result.demotions as i64),
            ("extra_zeroed_pages", result.extra_zeroed_pages as i64),
            ("extra_disk_read_pages", result.extra_disk_read_pages as i64),
            ("false_dirty_pages", result.false_dirty_pages as i64),
            (
                "false_dirty_pages_anonymous",
                result.false_dirty_pages_anonymous as i64,
            ),
            (
                "false_dirty_pages_file",
                result.false_dirty_pages_file as i64,
            ),
            (
                "clean_pages_in_superpages",
                result.clean_pages_in_superpages as i64,
            ),
            (
                "clean_pages_in_superpages_anonymous",
                result.clean_pages_in_superpages_anonymous as i64,
            ),
            (
                "clean_pages_in_superpages_file",
                result.clean_pages_in_superpages_file as i64,
            ),
            ("touched_pages", result.touched_pages as i64),
            (
                "touched_pages_anonymous",
                result.touched_pages_anonymous as i64,
            ),
            ("touched_pages_file", result.touched_pages_file as i64),
            ("resident_pages", result.resident_pages as i64),
            ("peak_resident_pages", result.peak_resident_pages as i64),
            ("regions", result.regions as i64),
            ("regions_anonymous", result.regions_anonymous as i64),
            ("regions_file", result.regions_file as i64),
        ],
        result
            .refusals
            .iter()
            .map(|(reason, &count)| (reason.clone(), count)),
    )
}

pub(super) fn figures_of_oracle(counts: Counts, faults_of_4k: u64) -> CountsByName {
    figures(
        &[
            ("accesses", counts.accesses as i64),
            ("loads", counts.loads as i64),
            ("stores", counts.stores as i64),
            ("l1_misses", counts.l1_misses as i64),
            ("l2_misses", counts.l2_misses as i64),
            ("walks_4k", counts.walks_4k as i64),
            ("walks_2m", counts.walks_2m as i64),
            ("walk_cycles", counts.walk_cycles as i64),
            ("page_faults", counts.page_faults as i64),
            (
                "faults_saved",
                faults_of_4k as i64 - counts.page_faults as i64,
            ),
            ("promotions", counts.promotions as i64),
            ("demotions", counts.demotions as i64),
            ("extra_zeroed_pages", counts.extra_zeroed_pages as i64),
            ("extra_disk_read_pages", counts.extra_disk_read_pages as i64),
            ("false_dirty_pages", counts.false_dirty_pages as i64),
            (
                "false_dirty_pages_anonymous",
                counts.false_dirty_pages_anonymous as i64,
            ),
            (
                "false_dirty_pages_file",
                counts.false_dirty_pages_file as i64,
            ),
            (
                "clean_pages_in_superpages",
                counts.clean_pages_in_superpages as i64,
            ),
            (
                "clean_pages_in_superpages_anonymous",
                counts.clean_pages_in_superpages_anonymous as i64,
            ),
            (
                "clean_pages_in_superpages_file",
                counts.clean_pages_in_superpages_file as i64,
            ),
            ("touched_pages", counts.touched_pages as i64),
            (
                "touched_pages_anonymous",
                counts.touched_pages_anonymous as i64,
            ),
            ("touched_pages_file", counts.touched_pages_file as i64),
            ("resident_pages", counts.resident_pages as i64),
            ("peak_resident_pages", counts.peak_resident_pages as i64),
            ("regions", counts.regions as i64),
            ("regions_anonymous", counts.regions_anonymous as i64),
            ("regions_file", counts.regions_file as i64),
        ],
        counts
            .refusals
            .into_iter()
            .map(|(reason, count)| (reason.to_string(), count)),
    )
}

/// The differences between two results, as readable lines.
pub(super) fn differences(left: &CountsByName, right: &CountsByName) -> String {
    let mut text = String::new();
    let names: std::collections::BTreeSet<&String> = left.keys().chain(right.keys()).collect();
    for name in names {
        let (l, r) = (left.get(name).unwrap_or(&0), right.get(name).unwrap_or(&0));
        if l != r {
            let _ = writeln!(text, "    {name}: {l} against {r}");
        }
    }
    text
}
