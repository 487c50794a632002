//! Apache Parquet: the columns of CSV with types. The trace and the provenance are JSON in the
//! file's metadata.

use std::io::Write;
use std::sync::Arc;

use broadleaf_metrics::Comparison;
use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use serde::Serialize;

use crate::{Column, Values, columns};

/// The reason for which a Parquet file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("writing Parquet: {0}")]
pub struct WriteParquetError(#[from] ParquetError);

/// Writes the results of comparisons as one row group: the columns of [`columns`]. Counts are
/// 64-bit integers and ratios are doubles.
///
/// For one comparison, the file's metadata has the keys `broadleaf.schema`, `broadleaf.trace`,
/// `broadleaf.memory`, `broadleaf.advice`, `broadleaf.damage`, `broadleaf.notes` and
/// `broadleaf.provenance`. For several comparisons, the values are arrays.
///
/// # Errors
/// Returns an error if `out` fails or a value does not fit the format.
pub fn write_parquet(
    comparisons: &[Comparison],
    refusals: &[&str],
    out: impl Write + Send,
) -> Result<(), WriteParquetError> {
    let columns = columns(comparisons, refusals);
    write_columns("comparison", &columns, metadata(comparisons)?, out)
}

/// Writes columns of equal length as one row group. `metadata` are keys and values.
pub(crate) fn write_columns(
    name: &str,
    columns: &[Column],
    metadata: Vec<KeyValue>,
    out: impl Write + Send,
) -> Result<(), WriteParquetError> {
    let fields = columns.iter().map(field).collect::<Result<Vec<_>, _>>()?;
    let schema = Arc::new(Type::group_type_builder(name).with_fields(fields).build()?);
    let properties = Arc::new(
        WriterProperties::builder()
            .set_key_value_metadata(Some(metadata))
            .build(),
    );
    let mut file = SerializedFileWriter::new(out, schema, properties)?;
    let mut group = file.next_row_group()?;
    for column in columns {
        let mut writer = group
            .next_column()?
            .expect("one column for each field of the schema");
        match &column.values {
            Values::Text(values) => {
                let bytes: Vec<ByteArray> = values
                    .iter()
                    .map(|text| ByteArray::from(text.as_str()))
                    .collect();
                writer
                    .typed::<ByteArrayType>()
                    .write_batch(&bytes, None, None)?;
            }
            // Parquet stores unsigned 64-bit integers as the signed integers with the same bits.
            Values::Count(values) => {
                let bits: Vec<i64> = values.iter().map(|&value| value.cast_signed()).collect();
                writer.typed::<Int64Type>().write_batch(&bits, None, None)?;
            }
            Values::Difference(values) => {
                writer
                    .typed::<Int64Type>()
                    .write_batch(values, None, None)?;
            }
            Values::Optional(values) => {
                let there: Vec<i16> = values.iter().map(|value| value.is_some().into()).collect();
                let bits: Vec<i64> = values
                    .iter()
                    .flatten()
                    .map(|value| value.cast_signed())
                    .collect();
                writer
                    .typed::<Int64Type>()
                    .write_batch(&bits, Some(&there), None)?;
            }
            Values::Ratio(values) => {
                let there: Vec<i16> = values.iter().map(|value| value.is_some().into()).collect();
                let ratios: Vec<f64> = values.iter().flatten().copied().collect();
                writer
                    .typed::<DoubleType>()
                    .write_batch(&ratios, Some(&there), None)?;
            }
        }
        writer.close()?;
    }
    group.close()?;
    file.close()?;
    Ok(())
}

fn field(column: &Column) -> Result<Arc<Type>, ParquetError> {
    let (physical, logical) = match column.values {
        Values::Text(_) => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        Values::Count(_) | Values::Optional(_) => (
            PhysicalType::INT64,
            Some(LogicalType::Integer {
                bit_width: 64,
                is_signed: false,
            }),
        ),
        Values::Difference(_) => (
            PhysicalType::INT64,
            Some(LogicalType::Integer {
                bit_width: 64,
                is_signed: true,
            }),
        ),
        Values::Ratio(_) => (PhysicalType::DOUBLE, None),
    };
    let builder = Type::primitive_type_builder(&column.name, physical);
    Ok(Arc::new(
        builder
            .with_repetition(match column.values {
                Values::Optional(_) | Values::Ratio(_) => Repetition::OPTIONAL,
                _ => Repetition::REQUIRED,
            })
            .with_logical_type(logical)
            .build()?,
    ))
}

fn metadata(comparisons: &[Comparison]) -> Result<Vec<KeyValue>, ParquetError> {
    let schema = comparisons
        .first()
        .map(|comparison| comparison.schema.clone());
    let mut pairs = vec![KeyValue::new(
        "broadleaf.schema".to_owned(),
        schema.unwrap_or_default(),
    )];
    pairs.push(key("trace", comparisons, |one| &one.trace)?);
    pairs.push(key("memory", comparisons, |one| &one.memory)?);
    pairs.push(key("advice", comparisons, |one| &one.advice)?);
    pairs.push(key("damage", comparisons, |one| &one.damage)?);
    pairs.push(key("notes", comparisons, |one| &one.notes)?);
    pairs.push(key("provenance", comparisons, |one| &one.provenance)?);
    Ok(pairs)
}

/// Returns a part of the comparisons as JSON: the part of the only one, or an array.
fn key<Part: Serialize>(
    name: &str,
    comparisons: &[Comparison],
    of: fn(&Comparison) -> &Part,
) -> Result<KeyValue, ParquetError> {
    let text = match comparisons {
        [one] => serde_json::to_string(of(one)),
        several => serde_json::to_string(&several.iter().map(of).collect::<Vec<_>>()),
    };
    let text = text.map_err(|error| ParquetError::External(error.into()))?;
    Ok(KeyValue::new(format!("broadleaf.{name}"), text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_metrics::{CellResult, MemoryResult, Provenance, Tlbmcpi, TraceSummary};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::{Field, RowAccessor};

    #[test]
    fn what_only_some_results_have_is_null_in_the_others() {
        let limited = |out_of_memory_after| CellResult {
            memory: Some(MemoryResult {
                out_of_memory_after,
                write_faults: 3,
                tlbmcpi: out_of_memory_after.and_then(|_| Tlbmcpi::new([25, 0, 1], 100)),
                ..MemoryResult::default()
            }),
            ..CellResult::default()
        };
        let results = vec![limited(None), limited(Some(u64::MAX)), limited(None)];
        let trace = TraceSummary::default();
        let comparison = Comparison::new(trace, results, vec![], Provenance::default());
        let mut out = Vec::new();
        write_parquet(std::slice::from_ref(&comparison), &[], &mut out).unwrap();
        let file = SerializedFileReader::new(bytes::Bytes::from(out)).unwrap();
        let values = |wanted: &str| -> Vec<Field> {
            let value = |row: Result<parquet::record::Row, _>| {
                let row = row.unwrap();
                let mut columns = row.get_column_iter();
                let (_, value) = columns.find(|(name, _)| *name == wanted).unwrap();
                value.clone()
            };
            file.get_row_iter(None).unwrap().map(value).collect()
        };
        let ends = values("out_of_memory_after");
        assert_eq!(ends, [Field::Null, Field::ULong(u64::MAX), Field::Null]);
        let misses = values("tlbmcpi_miss");
        assert_eq!(misses, [Field::Null, Field::Double(0.25), Field::Null]);
    }

    #[test]
    fn what_was_written_reads_back() {
        let mut one = CellResult {
            policy: "4k".to_owned(),
            accesses: u64::MAX,
            ..CellResult::default()
        };
        one.refusals.insert("not_covered".to_owned(), 9);
        let two = CellResult {
            policy: "greedy".to_owned(),
            faults_saved: -5,
            ..CellResult::default()
        };
        let trace = TraceSummary {
            path: "x.bl".to_owned(),
            ..TraceSummary::default()
        };
        let comparison = Comparison::new(trace, vec![one, two], vec![], Provenance::default());
        let mut out = Vec::new();
        write_parquet(
            std::slice::from_ref(&comparison),
            &["not_covered"],
            &mut out,
        )
        .unwrap();

        let file = SerializedFileReader::new(bytes::Bytes::from(out)).unwrap();
        let metadata = file.metadata().file_metadata();
        assert_eq!(metadata.num_rows(), 2);
        let trace = metadata
            .key_value_metadata()
            .unwrap()
            .iter()
            .find(|pair| pair.key == "broadleaf.trace")
            .unwrap();
        assert!(trace.value.as_ref().unwrap().contains("\"path\":\"x.bl\""));
        let names: Vec<String> = metadata
            .schema_descr()
            .columns()
            .iter()
            .map(|column| column.name().to_owned())
            .collect();
        let place = |name: &str| names.iter().position(|other| other == name).unwrap();
        let rows: Vec<_> = file
            .get_row_iter(None)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(rows[1].get_string(place("policy")).unwrap(), "greedy");
        assert_eq!(rows[0].get_ulong(place("accesses")).unwrap(), u64::MAX);
        assert_eq!(rows[1].get_long(place("faults_saved")).unwrap(), -5);
        assert_eq!(rows[0].get_ulong(place("refusal_not_covered")).unwrap(), 9);
    }
}
