//! The catalogue of metrics: a name, a unit and a description for each figure of a result.

use crate::memory_catalogue::{MEMORY_METRICS, SAMPLE_METRICS, TLBMCPI_METRICS};

/// A figure of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// The name of the field.
    pub name: &'static str,
    /// The unit.
    pub unit: &'static str,
    /// The description, in one sentence.
    pub sentence: &'static str,
    /// True if lower values are better, false if higher values are better, `None` if neither.
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

/// The figures of a result, in the order of its fields. The figures of [`MEMORY_METRICS`] follow if
/// the frame-level model ran.
pub const METRICS: &[Metric] = &[
    fact(
        "accesses",
        "accesses",
        "Loads plus stores; an access that straddles two pages is one access with two \
         translations.",
    ),
    cost(
        "l1_misses",
        "lookups",
        "Lookups that missed every first-level TLB structure.",
    ),
    cost(
        "l2_misses",
        "lookups",
        "Lookups that missed the second level as well; equal to l1_misses on a machine without \
         one.",
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
        "The cost of all walks by the machine's table of cycles for each page size.",
    ),
    cost(
        "page_faults",
        "faults",
        "References to pages that were not resident.",
    ),
    gain(
        "faults_saved",
        "faults",
        "Page faults of the policy 4k on the same trace less those of this policy.",
    ),
    fact(
        "promotions",
        "events",
        "Promotions of blocks to superpages; a block promoted twice counts twice.",
    ),
    fact(
        "demotions",
        "events",
        "Superpages that were broken into base pages.",
    ),
    cost(
        "extra_zeroed_pages",
        "base pages",
        "Anonymous pages that a promotion filled and that were not touched before they left or the \
         trace ended.",
    ),
    cost(
        "extra_disk_read_pages",
        "base pages",
        "File-backed pages that a promotion filled and that were not touched before they left or \
         the trace ended; none with --files memory.",
    ),
    cost(
        "false_dirty_pages",
        "base pages",
        "Pages never stored to, inside superpages that exist at the end of the trace and hold a \
         page with a store.",
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
        "Pages never stored to, inside superpages that exist at the end of the trace; a superpage \
         without any store counts all its pages. Zhu 2018 calls this count false dirty (tables 6.2 \
         and 6.3, per region).",
    ),
    cost(
        "clean_pages_in_superpages_anonymous",
        "base pages",
        "The part of clean_pages_in_superpages in superpages of anonymous memory, shared memory \
         included.",
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
        "Base-page frames held at the end of the trace, including those filled by promotions.",
    ),
    cost(
        "peak_resident_pages",
        "base pages",
        "The peak of base-page frames held.",
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
        "Decision points at which a block was not promoted, by reason.",
    ),
    cost(
        "curve",
        "lookups",
        "With --curve: misses of TLBs of other geometries, each for one page size, exact LRU, the \
         set chosen by the page number's low bits.",
    ),
];

/// Returns all metrics in the order of the fields; the parts of a composite metric come last.
pub fn all_metrics() -> impl Iterator<Item = &'static Metric> {
    let of_memory = MEMORY_METRICS.iter().chain(SAMPLE_METRICS);
    METRICS.iter().chain(of_memory).chain(TLBMCPI_METRICS)
}

/// Returns the metric with this name.
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
