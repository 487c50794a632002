//! Columns of results as Arrow arrays. Counts keep their memory; texts are copied once.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{ArrowError, Field, Schema};
use broadleaf_metrics::{AdvisedRange, CellResult, Comparison, CurvePoint};
use broadleaf_report::{Column, Values, columns};

/// A comparison as one batch: the columns of `compare --format parquet`.
///
/// # Errors
/// If two columns differ in length, which the report's columns never do.
pub(crate) fn of_comparison(
    comparison: &Comparison,
    refusals: &[&str],
) -> Result<RecordBatch, ArrowError> {
    let columns = columns(std::slice::from_ref(comparison), refusals);
    batch(columns.into_iter().map(array).collect())
}

/// One column: its name, its values, and true if a row may lack a value.
type NamedArray = (String, ArrayRef, bool);

fn array(column: Column) -> NamedArray {
    let (values, may_lack): (ArrayRef, bool) = match column.values {
        Values::Text(values) => (Arc::new(StringArray::from(values)), false),
        Values::Count(values) => (Arc::new(UInt64Array::from(values)), false),
        Values::Difference(values) => (Arc::new(Int64Array::from(values)), false),
        Values::Optional(values) => (Arc::new(UInt64Array::from(values)), true),
        Values::Ratio(values) => (Arc::new(Float64Array::from(values)), true),
    };
    (column.name, values, may_lack)
}

/// Makes a batch of columns.
fn batch(columns: Vec<NamedArray>) -> Result<RecordBatch, ArrowError> {
    let field = |(name, values, may_lack): &NamedArray| {
        Field::new(name, values.data_type().clone(), *may_lack)
    };
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    let arrays = columns.into_iter().map(|(_, values, _)| values).collect();
    RecordBatch::try_new(Arc::new(schema), arrays)
}

/// The curves of a comparison: one row for each policy, machine and geometry.
///
/// # Errors
/// As [`of_comparison`].
pub(crate) fn of_curves(comparison: &Comparison) -> Result<RecordBatch, ArrowError> {
    let results = comparison.results.iter();
    let points: Vec<_> = results
        .flat_map(|result| {
            let points = result.curve.iter().flatten();
            points.map(move |point| (result, point))
        })
        .collect();
    let text = |of: fn(&CellResult) -> &String| -> ArrayRef {
        let texts = points.iter().map(|(result, _)| Some(of(result)));
        Arc::new(texts.collect::<StringArray>())
    };
    let count = |of: fn(&CurvePoint) -> u64| -> ArrayRef {
        let counts = points.iter().map(|(_, point)| of(point));
        Arc::new(UInt64Array::from_iter_values(counts))
    };
    let accesses = points.iter().map(|(result, _)| result.accesses);
    let columns: [(&str, ArrayRef); 8] = [
        ("policy", text(|result| &result.policy)),
        ("machine", text(|result| &result.machine)),
        ("page_size", count(|point| point.page_size)),
        ("sets", count(|point| point.sets)),
        ("ways", count(|point| point.ways)),
        ("entries", count(|point| point.entries())),
        ("misses", count(|point| point.misses)),
        (
            "accesses",
            Arc::new(UInt64Array::from_iter_values(accesses)),
        ),
    ];
    let columns = columns.into_iter();
    batch(
        columns
            .map(|(name, values)| (name.to_owned(), values, false))
            .collect(),
    )
}

/// Ranges of advice: one row for each.
///
/// # Errors
/// As [`of_comparison`].
pub(crate) fn of_ranges(ranges: &[AdvisedRange]) -> Result<RecordBatch, ArrowError> {
    let count = |name: &str, of: fn(&AdvisedRange) -> u64| -> NamedArray {
        let values = UInt64Array::from_iter_values(ranges.iter().map(of));
        (name.to_owned(), Arc::new(values), false)
    };
    let optional = |name: &str, of: fn(&AdvisedRange) -> Option<u64>| -> NamedArray {
        let values: UInt64Array = ranges.iter().map(of).collect();
        (name.to_owned(), Arc::new(values), true)
    };
    let ratio = |name: &str, of: fn(&AdvisedRange) -> Option<f64>| -> NamedArray {
        let values: Float64Array = ranges.iter().map(of).collect();
        (name.to_owned(), Arc::new(values), true)
    };
    let text = |name: &str, of: fn(&AdvisedRange) -> Option<String>| -> NamedArray {
        let values: StringArray = ranges.iter().map(of).collect();
        (name.to_owned(), Arc::new(values), true)
    };
    let gained = Int64Array::from_iter_values(ranges.iter().map(|range| range.cycles_gained));
    batch(vec![
        count("space", |range| range.space.into()),
        optional("pid", |range| range.pid.map(u64::from)),
        text("command", |range| Some(range.command.join(" "))),
        count("start", |range| range.start),
        count("end", |range| range.end),
        count("superpage_bytes", |range| range.superpage_bytes),
        count("superpages", |range| range.superpages),
        text("backing", |range| {
            Some(range.mapping.as_ref()?.backing.words().to_owned())
        }),
        text("path", |range| range.mapping.as_ref()?.path.clone()),
        optional("mapping_start", |range| {
            range.mapping.as_ref().map(|mapping| mapping.start)
        }),
        optional("mapping_end", |range| {
            range.mapping.as_ref().map(|mapping| mapping.end)
        }),
        count("walks_spared", |range| range.walks_spared),
        count("walk_cycles_spared", |range| range.walk_cycles_spared),
        count("faults_spared", |range| range.faults_spared),
        count("added_bytes", |range| range.added_bytes),
        ("cycles_gained".to_owned(), Arc::new(gained), false),
        ratio("gained_per_kib", |range| Some(range.gained_per_kib)),
        ratio("gained_per_added_kib", |range| range.gained_per_added_kib),
    ])
}
