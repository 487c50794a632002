//! Columns of results as Arrow arrays. Counts keep their memory; texts are copied once.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use broadleaf_metrics::Comparison;
use broadleaf_report::{Column, Values, columns};
use serde_json::Value;

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
    let text = |of: fn(&broadleaf_metrics::CellResult) -> &String| -> ArrayRef {
        let texts = points.iter().map(|(result, _)| Some(of(result)));
        Arc::new(texts.collect::<StringArray>())
    };
    let count = |of: fn(&broadleaf_metrics::CurvePoint) -> u64| -> ArrayRef {
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

/// Objects of JSON as one batch. A field becomes a column; a nested field becomes a column of its
/// own, named `outer_inner`. Lists are JSON text.
///
/// # Errors
/// As [`of_comparison`].
pub(crate) fn of_objects(objects: &[Value]) -> Result<RecordBatch, ArrowError> {
    let mut names: Vec<String> = Vec::new();
    let rows: Vec<Vec<(String, &Value)>> = objects
        .iter()
        .map(|object| {
            let mut row = Vec::new();
            flatten("", object, &mut row);
            row
        })
        .collect();
    for (name, _) in rows.iter().flatten() {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    let column = |name: String| {
        let value = |row: &Vec<(String, &'_ Value)>| {
            row.iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).clone())
        };
        let values: Vec<Option<Value>> = rows
            .iter()
            .map(|row| value(row).filter(|value| !value.is_null()))
            .collect();
        let array = of_values(&values);
        (name, array, true)
    };
    batch(names.into_iter().map(column).collect())
}

fn flatten<'v>(prefix: &str, value: &'v Value, row: &mut Vec<(String, &'v Value)>) {
    let Value::Object(fields) = value else {
        return;
    };
    for (name, value) in fields {
        let name = match prefix {
            "" => name.clone(),
            prefix => format!("{prefix}_{name}"),
        };
        match value {
            Value::Object(_) => flatten(&name, value, row),
            value => row.push((name, value)),
        }
    }
}

/// The narrowest type that holds all values.
fn of_values(values: &[Option<Value>]) -> ArrayRef {
    let there = || values.iter().flatten();
    let kind = match () {
        () if there().all(Value::is_u64) => DataType::UInt64,
        () if there().all(Value::is_i64) => DataType::Int64,
        () if there().all(Value::is_number) => DataType::Float64,
        () if there().all(Value::is_boolean) => DataType::Boolean,
        () => DataType::Utf8,
    };
    let each = values.iter().map(Option::as_ref);
    match kind {
        DataType::UInt64 => Arc::new(each.map(|of| of?.as_u64()).collect::<UInt64Array>()),
        DataType::Int64 => Arc::new(each.map(|of| of?.as_i64()).collect::<Int64Array>()),
        DataType::Float64 => Arc::new(each.map(|of| of?.as_f64()).collect::<Float64Array>()),
        DataType::Boolean => Arc::new(each.map(|of| of?.as_bool()).collect::<BooleanArray>()),
        _ => {
            let text = |of: &Value| match of {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            Arc::new(each.map(|of| of.map(text)).collect::<StringArray>())
        }
    }
}
