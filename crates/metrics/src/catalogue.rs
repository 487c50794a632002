//! The catalogue of metrics: a name, a unit and a sentence for each figure of a result.

use crate::memory_catalogue::{MEMORY_METRICS, SAMPLE_METRICS, TLBMCPI_METRICS};

/// One figure that a result holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// The field's name in a result.
    pub name: &'static str,
    /// What one of it is.
    pub unit: &'static str,
    /// What it counts.
    pub sentence: &'static str,
    /// Whether less of it is better; `None` where neither is.
    pub less_is_better: Option<bool>,
}

pub(crate) const fn cost(name: &'static str, unit: &'static str, sentence: &'static str) -> Metric {
    Metric {
        name,
        unit,
        sentence,
        less_is_better: Some(true),
    }
}

const fn gain(name: &'static str, unit: &'static str, sentence: &'static str) -> Metric {
    Metric {
        name,
        unit,
        sentence,
        less_is_better: Some(false),
    }
}

pub(crate) const fn fact(name: &'static str, unit: &'static str, sentence: &'static str) -> Metric {
    Metric {
        name,
        unit,
        sentence,
        less_is_better: None,
    }
}

/// Every figure of a result, in the order of its fields; those of [`MEMORY_METRICS`] follow where memory was modelled down to the frame.
pub const METRICS: &[Metric] = &[
    fact(
        "accesses",
        "accesses",
        "Loads plus stores; an access that straddles two pages is one access with two translations.",
    ),
    cost(
        "l1_misses",
        "lookups",
        "Lookups that missed every first-level TLB structure.",
    ),
    cost(
        "l2_misses",
        "lookups",
        "Lookups that missed the second level as well; equal to l1_misses on a machine without one.",
    ),
    cost(
        "walks_4k",
        "walks",
        "Page-table walks that found a 4 KiB page.",
    ),
    cost(
        "walks_2m",
        "walks",
        "Page-table walks that found a 2 MiB page.",
    ),
    cost(
        "walk_cycles",
        "cycles",
        "What all walks cost by the machine's table of cycles for each page size.",
    ),
    cost(
        "page_faults",
        "faults",
        "References to pages that were not resident.",
    ),
    gain(
        "faults_saved",
        "faults",
        "Page faults of the policy 4k on the same trace less those of this one.",
    ),
    fact(
        "promotions",
        "events",
        "Blocks that became a superpage; one that became one twice counts twice.",
    ),
    fact(
        "demotions",
        "events",
        "Superpages that were broken into base pages.",
    ),
    cost(
        "extra_zeroed_pages",
        "base pages",
        "Anonymous pages that a promotion filled and that were not touched before they went or the trace ended.",
    ),
    cost(
        "extra_disk_read_pages",
        "base pages",
        "File-backed pages that a promotion filled and that were not touched before they went or the trace ended; none where --files memory says that they stand in memory.",
    ),
    cost(
        "false_dirty_pages",
        "base pages",
        "Pages never stored to, inside superpages that stand at the end of the trace and hold a page that was.",
    ),
    cost(
        "false_dirty_pages_anonymous",
        "base pages",
        "The part of false_dirty_pages in superpages of anonymous memory, shared memory included.",
    ),
    cost(
        "false_dirty_pages_file",
        "base pages",
        "The part of false_dirty_pages in superpages of files.",
    ),
    cost(
        "clean_pages_in_superpages",
        "base pages",
        "Pages never stored to, inside superpages that exist at the end of the trace; a superpage without any store counts all its pages. Zhu 2018 calls this count false dirty (tables 6.2 and 6.3, per region).",
    ),
    cost(
        "clean_pages_in_superpages_anonymous",
        "base pages",
        "The part of clean_pages_in_superpages in superpages of anonymous memory, shared memory included.",
    ),
    cost(
        "clean_pages_in_superpages_file",
        "base pages",
        "The part of clean_pages_in_superpages in superpages of files.",
    ),
    fact(
        "touched_pages",
        "base pages",
        "Distinct base pages that the program referenced or the kernel populated.",
    ),
    fact(
        "touched_pages_anonymous",
        "base pages",
        "The part of touched_pages that mapped no file at the first reference.",
    ),
    fact(
        "touched_pages_file",
        "base pages",
        "The part of touched_pages that mapped a file at the first reference.",
    ),
    cost(
        "resident_pages",
        "base pages",
        "Base-page frames held at the end of the trace, those filled by promotions included.",
    ),
    cost(
        "peak_resident_pages",
        "base pages",
        "The most base-page frames held at any one time.",
    ),
    fact(
        "regions",
        "blocks",
        "Superpage-aligned blocks that the program referenced.",
    ),
    fact(
        "regions_anonymous",
        "blocks",
        "The part of regions whose first referenced page mapped no file at that time.",
    ),
    fact(
        "regions_file",
        "blocks",
        "The part of regions whose first referenced page mapped a file at that time.",
    ),
    fact(
        "refusals",
        "decisions",
        "Decision points at which a block was not promoted, counted for each reason by its name.",
    ),
    cost(
        "curve",
        "lookups",
        "With --curve: misses of TLBs of other geometries, each for one page size, exact LRU, the set chosen by the page number's low bits.",
    ),
];

/// All metrics that there are, in the order of the fields; the parts of one that has some come last.
pub fn all_metrics() -> impl Iterator<Item = &'static Metric> {
    let of_memory = MEMORY_METRICS.iter().chain(SAMPLE_METRICS);
    METRICS.iter().chain(of_memory).chain(TLBMCPI_METRICS)
}

/// The metric of that name.
pub fn metric(name: &str) -> Option<&'static Metric> {
    all_metrics().find(|metric| metric.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_sentences_end() {
        for (at, metric) in all_metrics().enumerate() {
            assert!(
                all_metrics()
                    .take(at)
                    .all(|other| other.name != metric.name),
                "{}",
                metric.name
            );
            assert!(metric.sentence.ends_with('.'), "{}", metric.name);
            assert!(!metric.unit.is_empty(), "{}", metric.name);
        }
        assert_eq!(super::metric("regions").unwrap().unit, "blocks");
        assert!(super::metric("region").is_none());
    }
}
