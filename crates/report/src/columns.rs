//! A comparison turned on its side: one column for each figure, for formats that are tables of columns.

use std::collections::BTreeSet;

use broadleaf_metrics::CellResult;
use broadleaf_units::PageSize;

/// One column: a name, and a value for each result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The field's name; a refusal's is `refusal_<name>`.
    pub name: String,
    /// One value for each result, in their order.
    pub values: Values,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// Names.
    Text(Vec<String>),
    /// Counts.
    Count(Vec<u64>),
    /// Differences, which may be negative.
    Difference(Vec<i64>),
}

impl Values {
    /// The value of row `row` as text.
    ///
    /// # Panics
    /// Where there are not as many rows.
    pub fn text(&self, row: usize) -> String {
        match self {
            Self::Text(values) => values[row].clone(),
            Self::Count(values) => values[row].to_string(),
            Self::Difference(values) => values[row].to_string(),
        }
    }
}

/// The columns of `results`: the fields in the order of a result, then one for each of `refusals`, the reasons that there
/// are. Those that did not occur have a column too: which columns there are must not depend on what was counted, or two
/// files could not be put together. A size of page that only some of the results walked for is zero in the others. A curve is
/// many figures for each result, and has no column.
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
        count("touched_pages", |result| result.touched_pages),
        count("resident_pages", |result| result.resident_pages),
        count("peak_resident_pages", |result| result.peak_resident_pages),
        count("regions", |result| result.regions),
    ]);
    columns.extend(refused(results, refusals));
    columns
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
    // A reason that the caller does not know is not lost.
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
    use broadleaf_metrics::METRICS;

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
        let expected: Vec<&str> = ["policy", "machine"].into_iter().chain(catalogue).collect();
        assert_eq!(names, expected);
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
