//! A comparison as columns, one for each figure, for formats that are tables of columns.

use std::collections::BTreeSet;

use broadleaf_metrics::{
    CACHE_METRICS, CellResult, Comparison, MEMORY_METRICS, METRICS, Metric, MetricFigure,
    TLB_METRICS,
};
use broadleaf_units::PageSize;

use crate::estimates::estimate_columns;

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
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Text(values) => values.len(),
            Self::Count(values) => values.len(),
            Self::Difference(values) => values.len(),
            Self::Optional(values) => values.len(),
            Self::Ratio(values) => values.len(),
        }
    }

    /// Returns true if there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

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

/// Returns the columns of the results of `comparisons`: the trace, its hash and the version of
/// Broadleaf, then those of [`of_results`], then `yes` for the samples of a profiler or `no`. All
/// rows of a comparison come together.
pub fn columns(comparisons: &[Comparison], refusals: &[&str]) -> Vec<Column> {
    let results: Vec<CellResult> = (comparisons.iter())
        .flat_map(|comparison| comparison.results.iter().cloned())
        .collect();
    let of_trace = |name: &str, of: fn(&Comparison) -> &str| {
        let rows =
            |comparison: &Comparison| vec![of(comparison).to_owned(); comparison.results.len()];
        Column {
            name: name.to_owned(),
            values: Values::Text(comparisons.iter().flat_map(rows).collect()),
        }
    };
    let mut columns = vec![
        of_trace("trace", |comparison| &comparison.trace.path),
        of_trace("trace_hash", |comparison| &comparison.trace.hash),
        of_trace("version", |comparison| &comparison.provenance.version),
    ];
    columns.extend(of_results(&results, refusals));
    columns.push(of_trace("samples", |comparison| {
        match comparison.trace.samples {
            true => "yes",
            false => "no",
        }
    }));
    columns
}

/// Returns the columns of `results`: the metrics in the catalogue's order, then one column for each
/// of `refusals`, the possible reasons.
///
/// A refusal without an occurrence has a column too. The set of columns must not depend on the
/// counts, because files are combined. A page size that some results did not walk for is zero
/// there. The columns of the frame-level model come before those of refusals. Curves, page sizes,
/// free extents and samples have many figures for each result, and no column. The parts of
/// `tlbmcpi` have one column each.
fn of_results(results: &[CellResult], refusals: &[&str]) -> Vec<Column> {
    let text = |name: &str, of: fn(&CellResult) -> &String| Column {
        name: name.to_owned(),
        values: Values::Text(results.iter().map(|result| of(result).clone()).collect()),
    };
    let mut columns = vec![
        text("policy", |result| &result.policy),
        text("asked", |result| &result.asked),
        text("machine", |result| &result.machine),
    ];
    columns.extend(METRICS.iter().flat_map(|metric| of_metric(metric, results)));
    if results.iter().any(|result| result.tlb.is_some()) {
        // Few machines have page tables that are built.
        let is_there = |metric: &&&Metric| match metric.figure {
            MetricFigure::Optional(of) => results.iter().any(|result| of(result).is_some()),
            _ => true,
        };
        let of_tlb = TLB_METRICS.iter().filter(is_there);
        columns.extend(of_tlb.flat_map(|metric| of_metric(metric, results)));
    }
    if results.iter().any(|result| result.caches.is_some()) {
        // Not all machines have three levels.
        let has_value = |metric: &&&Metric| results.iter().any(|of| metric.value(of).is_some());
        let of_caches = CACHE_METRICS.iter().filter(has_value);
        columns.extend(of_caches.flat_map(|metric| of_metric(metric, results)));
    }
    if results.iter().any(|result| result.memory.is_some()) {
        let of_memory = MEMORY_METRICS.iter();
        columns.extend(of_memory.flat_map(|metric| of_metric(metric, results)));
    }
    columns.extend(estimate_columns(results));
    columns.extend(refused(results, refusals));
    columns
}

/// Returns the columns of one metric: one for most, and one for each part or page size.
fn of_metric(metric: &Metric, results: &[CellResult]) -> Vec<Column> {
    use MetricFigure as Figure;
    let each = results.iter();
    let values = match metric.figure {
        Figure::Count(of) => Values::Count(each.map(of).collect()),
        Figure::Difference(of) => Values::Difference(each.map(of).collect()),
        Figure::Optional(of) => Values::Optional(each.map(of).collect()),
        Figure::Ratio(of) | Figure::Computed(of) => Values::Ratio(each.map(of).collect()),
        Figure::Word(of) => {
            let word = |result: &CellResult| of(result).unwrap_or_default().to_owned();
            Values::Text(each.map(word).collect())
        }
        Figure::OfMemory(of) => {
            let count = |result: &CellResult| result.memory.as_ref().map_or(0, of);
            Values::Count(each.map(count).collect())
        }
        Figure::OfTlb(of) => {
            let count = |result: &CellResult| result.tlb.as_ref().map(of);
            Values::Optional(each.map(count).collect())
        }
        // Other sizes have columns between those of the catalogue.
        Figure::Walks(PageSize::SIZE_4K) => return walks(results),
        Figure::Walks(_) | Figure::Several | Figure::OfSample => return Vec::new(),
        Figure::Parts(parts) => {
            let of_parts = parts.iter().flat_map(|part| of_metric(part, results));
            return of_parts.collect();
        }
    };
    vec![Column {
        name: metric.name.to_owned(),
        values,
    }]
}

/// Returns the columns of walks, smallest page size first: 4 KiB, 2 MiB, and other sizes found.
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
    use broadleaf_metrics::{
        CacheLevelResult, CacheResult, MemoryResult, Provenance, Tlbmcpi, TraceSummary,
    };

    #[test]
    fn every_metric_has_its_column_in_the_catalogue_s_order() {
        let results = [CellResult::default()];
        let names: Vec<String> = of_results(&results, &[])
            .into_iter()
            .map(|column| column.name)
            .collect();
        let catalogue = METRICS.iter().flat_map(|metric| match metric.figure {
            MetricFigure::Parts(parts) => parts.iter().map(|part| part.name).collect(),
            MetricFigure::Several => Vec::new(),
            _ => vec![metric.name],
        });
        let expected: Vec<&str> = ["policy", "asked", "machine"]
            .into_iter()
            .chain(catalogue)
            .collect();
        assert_eq!(names, expected);
    }

    /// The columns of caches are there for results with caches, and for the levels that they have.
    #[test]
    fn machines_with_caches_have_columns_of_their_own() {
        let with_levels = |levels| CellResult {
            caches: Some(CacheResult {
                instructions: 1000,
                cycles: Some(500),
                levels: vec![CacheLevelResult::default(); levels],
                ..CacheResult::default()
            }),
            ..CellResult::default()
        };
        let names = |results: &[CellResult]| -> BTreeSet<String> {
            let columns = of_results(results, &[]).into_iter();
            columns.map(|column| column.name).collect()
        };
        let of_caches = |names: &BTreeSet<String>| {
            let metrics = CACHE_METRICS.iter();
            metrics.filter(|metric| names.contains(metric.name)).count()
        };
        assert_eq!(of_caches(&names(&[CellResult::default()])), 0);
        // The upper bound of the cycles, the mispredicted branches and what each level prefetched
        // are missing.
        let all = CACHE_METRICS.len() - 2 - 3;
        let three = names(&[CellResult::default(), with_levels(3)]);
        assert_eq!(of_caches(&three), all);
        let two = names(&[with_levels(2)]);
        assert_eq!(of_caches(&two), all - 7);
        assert!(two.contains("cache2_walk_misses") && !two.contains("cache3_walk_misses"));
    }

    #[test]
    fn each_row_names_its_trace_and_the_version() {
        let comparison = |path: &str, rows: usize| {
            let mut comparison = Comparison::new(
                TraceSummary {
                    path: path.to_owned(),
                    hash: format!("blake3:{path}"),
                    ..TraceSummary::default()
                },
                vec![CellResult::default(); rows],
                vec![],
                Provenance::default(),
            );
            comparison.provenance.version = "1.2.3".to_owned();
            comparison
        };
        let columns = columns(&[comparison("a", 2), comparison("b", 1)], &[]);
        let names: Vec<&str> = columns.iter().map(|column| &*column.name).take(4).collect();
        assert_eq!(names, ["trace", "trace_hash", "version", "policy"]);
        let texts = |at: usize| [0, 1, 2].map(|row| columns[at].values.text(row));
        assert_eq!(texts(0), ["a", "a", "b"]);
        assert_eq!(texts(1), ["blake3:a", "blake3:a", "blake3:b"]);
        assert_eq!(texts(2), ["1.2.3"; 3]);
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
        let with = of_results(&[limited(None), limited(Some(7))], &["too_young"]);
        let without = of_results(&[CellResult::default()], &["too_young"]);
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
        let columns = of_results(&[one, two], &["not_covered", "too_young"]);
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
