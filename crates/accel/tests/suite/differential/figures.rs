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

/// The counts that the model and the oracle have under the same names.
macro_rules! counts {
    ($of:expr) => {
        counts!(
            $of,
            accesses,
            l1_misses,
            l2_misses,
            walk_cycles,
            page_faults,
            promotions,
            demotions,
            extra_zeroed_pages,
            extra_disk_read_pages,
            false_dirty_pages,
            false_dirty_pages_anonymous,
            false_dirty_pages_file,
            clean_pages_in_superpages,
            clean_pages_in_superpages_anonymous,
            clean_pages_in_superpages_file,
            touched_pages,
            touched_pages_anonymous,
            touched_pages_file,
            resident_pages,
            peak_resident_pages,
            regions,
            regions_anonymous,
            regions_file,
        )
    };
    ($of:expr, $($name:ident,)*) => {
        [$((stringify!($name), $of.$name as i64)),*]
    };
}

pub(super) fn figures_of_engine(result: &CellResult, loads: u64, stores: u64) -> CountsByName {
    assert_eq!(result.walks.total(), result.l2_misses);
    let others = [
        ("loads", loads as i64),
        ("stores", stores as i64),
        ("walks_4k", result.walks.of(PageSize::SIZE_4K) as i64),
        ("walks_2m", result.walks.of(PageSize::SIZE_2M) as i64),
        ("faults_saved", result.faults_saved),
    ];
    figures(
        &[&counts!(result)[..], &others].concat(),
        result
            .refusals
            .iter()
            .map(|(reason, &count)| (reason.clone(), count)),
    )
}

pub(super) fn figures_of_oracle(counts: Counts, faults_of_4k: u64) -> CountsByName {
    let saved = faults_of_4k as i64 - counts.page_faults as i64;
    let others = [
        ("loads", counts.loads as i64),
        ("stores", counts.stores as i64),
        ("walks_4k", counts.walks_4k as i64),
        ("walks_2m", counts.walks_2m as i64),
        ("faults_saved", saved),
    ];
    figures(
        &[&counts!(counts)[..], &others].concat(),
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
