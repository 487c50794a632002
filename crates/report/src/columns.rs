//! A comparison as columns, one for each figure, for formats that are tables of columns.

use std::collections::BTreeSet;

use broadleaf_metrics::{CellResult, MemoryResult, Tlbmcpi};
use broadleaf_units::PageSize;

/// A column: a name, and a value for each result.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The field's name. A refusal is `refusal_<name>`, and a part of `tlbmcpi` is
    /// `tlbmcpi_<part>`.
    pub name: String,
    /// One value for each result, in the order of the results.
    pub values: Values,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Names.
    Text(Vec<String>),
    /// Counts.
    Count(Vec<u64>),
    /// Differences, which may be negative.
    Difference(Vec<i64>),
    /// Counts that some results lack.
    Optional(Vec<Option<u64>>),
    /// Ratios that some results lack.
    Ratio(Vec<Option<f64>>),
}

impl Values {
    /// Returns the value of row `row` as text, or an empty text if the row has no value.
    ///
    /// # Panics
    /// Panics if there is no such row.
    pub fn text(&self, row: usize) -> String {
        match self {
            Self::Text(values) => values[row].clone(),
            Self::Count(values) => values[row].to_string(),
            Self::Difference(values) => values[row].to_string(),
            Self::Optional(values) => values[row].map_or(String::new(), |value| value.to_string()),
            Self::Ratio(values) => values[row].map_or(String::new(), |value| value.to_string()),
        }
    }
}

/// Returns the columns of `results`: the fields in the order of a result, then one column for each
/// of `refusals`, the possible reasons.
///
/// A refusal without an occurrence has a column too. The set of columns must not depend on the
/// counts, because files are combined. A page size that some results did not walk for is zero
/// there. The columns of the frame-level model come before those of refusals. Curves, page sizes,
/// free extents and samples have many figures for each result, and no column. The parts of
/// `tlbmcpi` have one column each.
pub fn columns(results: &[CellResult], refusals: &[&str]) -> Vec<Column> {
    let text = |name: &str, of: fn(&CellResult) -> &String| Column {
        name: name.to_owned(),
        values: Values::Text(results.iter().map(|result| of(result).clone()).collect()),
    };
    let count = |name: &str, of: fn(&CellResult) -> u64| Column {
        name: name.to_owned(),
        values: Values::Count(results.iter().map(of).collect()),
    };
    let mut columns = vec![
        text("policy", |result| &result.policy),
        text("asked", |result| &result.asked),
        text("machine", |result| &result.machine),
        count("accesses", |result| result.accesses),
        count("l1_misses", |result| result.l1_misses),
        count("l2_misses", |result| result.l2_misses),
    ];
    columns.extend(walks(results));
    columns.extend([
        count("walk_cycles", |result| result.walk_cycles),
        count("page_faults", |result| result.page_faults),
        Column {
            name: "faults_saved".to_owned(),
            values: Values::Difference(results.iter().map(|result| result.faults_saved).collect()),
        },
        count("promotions", |result| result.promotions),
        count("demotions", |result| result.demotions),
        count("extra_zeroed_pages", |result| result.extra_zeroed_pages),
        count("extra_disk_read_pages", |result| {
            result.extra_disk_read_pages
        }),
        count("false_dirty_pages", |result| result.false_dirty_pages),
        count("false_dirty_pages_anonymous", |result| {
            result.false_dirty_pages_anonymous
        }),
        count("false_dirty_pages_file", |result| {
            result.false_dirty_pages_file
        }),
        count("clean_pages_in_superpages", |result| {
            result.clean_pages_in_superpages
        }),
        count("clean_pages_in_superpages_anonymous", |result| {
            result.clean_pages_in_superpages_anonymous
        }),
        count("clean_pages_in_superpages_file", |result| {
            result.clean_pages_in_superpages_file
        }),
        count("touched_pages", |result| result.touched_pages),
        count("touched_pages_anonymous", |result| {
            result.touched_pages_anonymous
        }),
        count("touched_pages_file", |result| result.touched_pages_file),
        count("resident_pages", |result| result.resident_pages),
        count("peak_resident_pages", |result| result.peak_resident_pages),
        count("regions", |result| result.regions),
        count("regions_anonymous", |result| result.regions_anonymous),
        count("regions_file", |result| result.regions_file),
    ]);
    columns.extend(of_memory(results));
    columns.extend(refused(results, refusals));
    columns
}

/// Returns the columns of memory, if any result has it.
fn of_memory(results: &[CellResult]) -> Vec<Column> {
    if results.iter().all(|result| result.memory.is_none()) {
        return Vec::new();
    }
    let count = |name: &str, of: fn(&MemoryResult) -> u64| Column {
        name: name.to_owned(),
        values: Values::Count(
            (results.iter())
                .map(|result| result.memory.as_ref().map_or(0, of))
                .collect(),
        ),
    };
    let ends = results.iter().map(|result| result.memory.as_ref());
    let ends = ends.map(|memory| memory.and_then(|memory| memory.out_of_memory_after));
    let times = results
        .iter()
        .map(|result| result.memory.as_ref()?.times_offline);
    let each_instruction = |part: &str, of: fn(&Tlbmcpi) -> f64| {
        let parts = results.iter().map(|result| result.memory.as_ref()?.tlbmcpi);
        Column {
            name: format!("tlbmcpi_{part}"),
            values: Values::Ratio(parts.map(|parts| parts.as_ref().map(of)).collect()),
        }
    };
    vec![
        count("base_page_bytes", |memory| memory.base_page_bytes),
        count("write_faults", |memory| memory.write_faults),
        count("peak_superpage_pages", |memory| memory.peak_superpage_pages),
        count("swapped_out_pages", |memory| memory.swapped_out_pages),
        count("swapped_in_pages", |memory| memory.swapped_in_pages),
        count("file_pages_read", |memory| memory.file_pages_read),
        count("file_pages_written", |memory| memory.file_pages_written),
        count("unsaved_file_pages", |memory| memory.unsaved_file_pages),
        count("cache_hits", |memory| memory.cache_hits),
        count("reservations", |memory| memory.reservations),
        count("reservations_broken", |memory| memory.reservations_broken),
        count("extents_refused", |memory| memory.extents_refused),
        count("copied_bytes", |memory| memory.copied_bytes),
        count("migrated_pages", |memory| memory.migrated_pages),
        count("zeroed_pages", |memory| memory.zeroed_pages),
        count("zeroed_ahead_pages", |memory| memory.zeroed_ahead_pages),
        count("fault_cycles", |memory| memory.fault_cycles),
        count("worst_fault_cycles", |memory| memory.worst_fault_cycles),
        count("daemon_cycles", |memory| memory.daemon_cycles),
        count("promotion_cycles", |memory| memory.promotion_cycles),
        count("copy_cycles", |memory| memory.copy_cycles),
        count("bookkeeping_cycles", |memory| memory.bookkeeping_cycles),
        each_instruction("miss", |parts| parts.miss),
        each_instruction("bookkeeping", |parts| parts.bookkeeping),
        each_instruction("copy", |parts| parts.copy),
        Column {
            name: "times_offline".to_owned(),
            values: Values::Ratio(times.collect()),
        },
        count("in_swap_pages", |memory| memory.in_swap_pages),
        Column {
            name: "out_of_memory_after".to_owned(),
            values: Values::Optional(ends.collect()),
        },
    ]
}

fn walks(results: &[CellResult]) -> Vec<Column> {
    let always = [PageSize::SIZE_4K, PageSize::SIZE_2M];
    let found = results
        .iter()
        .flat_map(|result| result.walks.iter().map(|(size, _)| size));
    let sizes: BTreeSet<PageSize> = found.chain(always).collect();
    let column = |size: PageSize| Column {
        name: format!("walks_{}", size.short_name()),
        values: Values::Count(results.iter().map(|result| result.walks.of(size)).collect()),
    };
    sizes.into_iter().map(column).collect()
}

fn refused(results: &[CellResult], known: &[&str]) -> Vec<Column> {
    // A reason that the caller does not know is kept too.
    let unknown: BTreeSet<&str> = results
        .iter()
        .flat_map(|result| result.refusals.keys().map(String::as_str))
        .filter(|name| !known.contains(name))
        .collect();
    let column = |name: &str| Column {
        name: format!("refusal_{name}"),
        values: Values::Count(
            results
                .iter()
                .map(|result| result.refusals.get(name).copied().unwrap_or(0))
                .collect(),
        ),
    };
    known.iter().copied().chain(unknown).map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_metrics::{MEMORY_METRICS, METRICS};

    #[test]
    fn every_metric_has_its_column_in_the_catalogue_s_order() {
        let results = [CellResult::default()];
        let names: Vec<String> = columns(&results, &[])
            .into_iter()
            .map(|column| column.name)
            .collect();
        let catalogue = METRICS
            .iter()
            .map(|metric| metric.name)
            .filter(|name| !["refusals", "curve"].contains(name));
        let expected: Vec<&str> = ["policy", "asked", "machine"]
            .into_iter()
            .chain(catalogue)
            .collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn memory_has_a_column_for_each_single_figure_where_there_is_any() {
        let limited = |out_of_memory_after| CellResult {
            memory: Some(MemoryResult {
                out_of_memory_after,
                tlbmcpi: out_of_memory_after.and_then(|_| Tlbmcpi::new([25, 0, 1], 100)),
                ..MemoryResult::default()
            }),
            ..CellResult::default()
        };
        let with = columns(&[limited(None), limited(Some(7))], &["too_young"]);
        let without = columns(&[CellResult::default()], &["too_young"]);
        let names = |columns: &[Column]| -> Vec<String> {
            columns.iter().map(|column| column.name.clone()).collect()
        };
        let many = ["page_sizes", "free_contiguity", "at_peak", "over_time"];
        let single = (MEMORY_METRICS.iter())
            .filter(|metric| !many.contains(&metric.name))
            .flat_map(|metric| match metric.name {
                "tlbmcpi" => ["miss", "bookkeeping", "copy"]
                    .map(|part| format!("tlbmcpi_{part}"))
                    .to_vec(),
                name => vec![name.to_owned()],
            });
        let mut expected = names(&without);
        let refusal = expected.pop().unwrap();
        expected.extend(single);
        expected.push(refusal);
        assert_eq!(names(&with), expected);
        for (name, text) in [
            ("out_of_memory_after", "7"),
            ("tlbmcpi_miss", "0.25"),
            ("tlbmcpi_bookkeeping", "0"),
            ("tlbmcpi_copy", "0.01"),
        ] {
            let values = &with
                .iter()
                .find(|column| column.name == name)
                .unwrap()
                .values;
            assert_eq!(
                (values.text(0), values.text(1)),
                (String::new(), text.to_owned())
            );
        }
    }

    #[test]
    fn what_only_some_results_have_is_zero_in_the_others() {
        let mut one = CellResult {
            policy: "a".to_owned(),
            ..CellResult::default()
        };
        one.refusals.insert("too_young".to_owned(), 3);
        one.walks.add(PageSize::from_shift(30).unwrap(), 7);
        let two = CellResult {
            policy: "b".to_owned(),
            ..CellResult::default()
        };
        let columns = columns(&[one, two], &["not_covered", "too_young"]);
        let of = |name: &str| {
            columns
                .iter()
                .find(|column| column.name == name)
                .unwrap()
                .values
                .clone()
        };
        assert_eq!(of("refusal_too_young"), Values::Count(vec![3, 0]));
        assert_eq!(of("refusal_not_covered"), Values::Count(vec![0, 0]));
        assert_eq!(of("walks_1g"), Values::Count(vec![7, 0]));
        assert_eq!(of("policy").text(1), "b");
    }
}
