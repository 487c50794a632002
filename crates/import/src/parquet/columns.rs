//! The values of a column, some thousands at a time.

use ::parquet::basic::{ConvertedType, LogicalType};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use ::parquet::schema::types::ColumnDescriptor;

/// A column of integers.
pub(super) struct Numbers {
    from: Integers,
    /// Negative values are large ones: the type has no sign.
    unsigned: bool,
    /// The values that are held, with the sign of the stored type.
    values: Vec<i64>,
}

enum Integers {
    Narrow(ColumnReaderImpl<Int32Type>),
    Wide(ColumnReaderImpl<Int64Type>),
}

impl Numbers {
    /// # Errors
    /// The column holds other values than integers.
    pub(super) fn new(reader: ColumnReader, column: &ColumnDescriptor) -> Result<Self, String> {
        let from = match reader {
            ColumnReader::Int32ColumnReader(reader) => Integers::Narrow(reader),
            ColumnReader::Int64ColumnReader(reader) => Integers::Wide(reader),
            _ => return Err(other_type(column, "integers")),
        };
        let unsigned = match column.logical_type_ref() {
            Some(LogicalType::Integer { is_signed, .. }) => !is_signed,
            // Times and decimals are stored as integers too.
            Some(_) => return Err(other_type(column, "integers")),
            None => matches!(
                column.converted_type(),
                ConvertedType::UINT_64
                    | ConvertedType::UINT_32
                    | ConvertedType::UINT_16
                    | ConvertedType::UINT_8
            ),
        };
        Ok(Self {
            from,
            unsigned,
            values: Vec::new(),
        })
    }

    /// Holds the next `count` values.
    ///
    /// # Errors
    /// There are fewer, one is null, or the file is damaged.
    pub(super) fn fill(&mut self, count: usize) -> Result<(), String> {
        match &mut self.from {
            Integers::Wide(reader) => {
                self.values.clear();
                fill(reader, count, &mut self.values)
            }
            Integers::Narrow(reader) => {
                let mut narrow = Vec::with_capacity(count);
                fill(reader, count, &mut narrow)?;
                self.values.clear();
                let unsigned = self.unsigned;
                self.values
                    .extend(narrow.into_iter().map(|value| match unsigned {
                        true => i64::from(value.cast_unsigned()),
                        false => i64::from(value),
                    }));
                Ok(())
            }
        }
    }

    /// The value of a row that is held.
    ///
    /// # Errors
    /// It is negative.
    pub(super) fn at(&self, row: usize) -> Result<u64, String> {
        let value = self.values[row];
        match self.unsigned {
            true => Ok(value.cast_unsigned()),
            false => u64::try_from(value).map_err(|_| format!("{value} is negative")),
        }
    }
}

/// A column of texts.
pub(super) struct Words {
    from: ColumnReaderImpl<ByteArrayType>,
    values: Vec<ByteArray>,
}

impl Words {
    /// # Errors
    /// The column holds other values than texts.
    pub(super) fn new(reader: ColumnReader, column: &ColumnDescriptor) -> Result<Self, String> {
        match reader {
            ColumnReader::ByteArrayColumnReader(from) => Ok(Self {
                from,
                values: Vec::new(),
            }),
            _ => Err(other_type(column, "texts")),
        }
    }

    /// As [`Numbers::fill`].
    ///
    /// # Errors
    /// As [`Numbers::fill`].
    pub(super) fn fill(&mut self, count: usize) -> Result<(), String> {
        self.values.clear();
        fill(&mut self.from, count, &mut self.values)
    }

    /// The text of a row that is held.
    pub(super) fn at(&self, row: usize) -> &[u8] {
        self.values[row].data()
    }
}

fn other_type(column: &ColumnDescriptor, wanted: &str) -> String {
    let kind = column.physical_type();
    format!("it holds {kind}, not {wanted}")
}

/// Appends the next `count` values.
fn fill<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    count: usize,
    values: &mut Vec<T::T>,
) -> Result<(), String> {
    let mut levels = Vec::new();
    let read = reader.read_records(count, Some(&mut levels), None, values);
    let (rows, _, _) = read.map_err(|error| error.to_string())?;
    if rows < count {
        return Err(format!("it has {rows} only: the file is damaged"));
    }
    match values.len() < count {
        true => Err("a value is null: leave such rows out of the file".to_owned()),
        false => Ok(()),
    }
}
