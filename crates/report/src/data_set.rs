//! Columns as Parquet files with text in their metadata, and such files read again.

use std::fs::File;
use std::io::Write;

use parquet::basic::{LogicalType, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use crate::parquet::write_columns;
use crate::{Column, Values, WriteParquetError};

/// The reason for which a Parquet file could not be read.
#[derive(Debug, thiserror::Error)]
#[error("reading Parquet: {0}")]
pub struct ReadParquetError(#[from] ParquetError);

/// Writes columns of equal length, and one text in the metadata under the name `key`.
///
/// # Errors
/// Returns an error if `out` fails or a value does not fit the format.
pub fn write_column_file(
    columns: &[Column],
    key: &str,
    text: String,
    out: impl Write + Send,
) -> Result<(), WriteParquetError> {
    let metadata = vec![KeyValue::new(key.to_owned(), text)];
    write_columns("results", columns, metadata, out)
}

/// Reads the text that the metadata of a file has under the name `key`; `None` if it has none.
///
/// # Errors
/// Returns an error if the file is unreadable or no Parquet file.
pub fn text_of_column_file(file: File, key: &str) -> Result<Option<String>, ReadParquetError> {
    let reader = SerializedFileReader::new(file)?;
    let metadata = reader.metadata().file_metadata();
    let mut pairs = metadata.key_value_metadata().into_iter().flatten();
    Ok(pairs
        .find(|pair| pair.key == key)
        .and_then(|pair| pair.value.clone()))
}

/// Reads the columns of a file that [`write_column_file`] wrote. Counts are optional counts then.
///
/// # Errors
/// Returns an error if the file is unreadable or no Parquet file.
pub fn read_column_file(file: File) -> Result<Vec<Column>, ReadParquetError> {
    let reader = SerializedFileReader::new(file)?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let mut columns: Vec<Column> = (schema.columns().iter())
        .map(|column| Column {
            name: column.name().to_owned(),
            values: match (column.physical_type(), column.logical_type_ref()) {
                (PhysicalType::DOUBLE, _) => Values::Ratio(Vec::new()),
                (
                    PhysicalType::INT64,
                    Some(LogicalType::Integer {
                        is_signed: false, ..
                    }),
                ) => Values::Optional(Vec::new()),
                (PhysicalType::INT64, _) => Values::Difference(Vec::new()),
                _ => Values::Text(Vec::new()),
            },
        })
        .collect();
    for row in reader.get_row_iter(None)? {
        for (column, (_, field)) in columns.iter_mut().zip(row?.get_column_iter()) {
            add(&mut column.values, field);
        }
    }
    Ok(columns)
}

/// Adds the value of one row.
fn add(values: &mut Values, field: &Field) {
    match values {
        Values::Text(texts) => texts.push(match field {
            Field::Str(text) => text.clone(),
            Field::Null => String::new(),
            other => other.to_string(),
        }),
        Values::Count(counts) => counts.push(count(field).unwrap_or_default()),
        Values::Optional(counts) => counts.push(count(field)),
        Values::Difference(differences) => differences.push(match field {
            Field::Long(value) => *value,
            _ => 0,
        }),
        Values::Ratio(ratios) => ratios.push(match field {
            Field::Double(value) => Some(*value),
            _ => None,
        }),
    }
}

const fn count(field: &Field) -> Option<u64> {
    match field {
        Field::ULong(value) => Some(*value),
        Field::Long(value) => Some(value.cast_unsigned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_read_as_they_were_written() {
        let column = |name: &str, values| Column {
            name: name.to_owned(),
            values,
        };
        let columns = vec![
            column("policy", Values::Text(vec!["4k".into(), "pop-64".into()])),
            column("misses", Values::Count(vec![7, u64::MAX])),
            column("saved", Values::Difference(vec![-7, 3])),
            column("walks", Values::Optional(vec![None, Some(2)])),
            column("ratio", Values::Ratio(vec![Some(0.5), None])),
        ];
        let mut file = tempfile::tempfile().expect("a file");
        write_column_file(&columns, "broadleaf.sweep", "{}".to_owned(), &mut file)
            .expect("written");
        let again = || file.try_clone().expect("a file");
        let text = text_of_column_file(again(), "broadleaf.sweep").expect("read");
        assert_eq!(text.as_deref(), Some("{}"));
        assert_eq!(text_of_column_file(again(), "other").expect("read"), None);
        let mut wanted = columns.clone();
        wanted[1].values = Values::Optional(vec![Some(7), Some(u64::MAX)]);
        assert_eq!(read_column_file(again()).expect("read"), wanted);
    }

    #[test]
    fn a_file_that_was_cut_is_refused() {
        let file = tempfile::tempfile().expect("a file");
        (&file).write_all(b"PAR1").expect("written");
        let refused = read_column_file(file).expect_err("no Parquet file");
        assert!(refused.to_string().starts_with("reading Parquet: "));
    }
}
