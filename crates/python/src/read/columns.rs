//! Values of Arrow columns, whichever of the usual types a library chose.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::DataType;

/// A column with its name, for messages.
pub(crate) struct NamedColumn<'a> {
    name: &'a str,
    column: &'a ArrayRef,
}

impl<'a> NamedColumn<'a> {
    pub(crate) const fn new(name: &'a str, column: &'a ArrayRef) -> Self {
        Self { name, column }
    }

    /// Returns the values of the column.
    ///
    /// # Errors
    /// If the column has another type, or a value does not fit.
    pub(crate) fn values<T: ColumnValue>(&self) -> Result<Vec<Option<T>>, String> {
        T::values_of(self)
    }

    /// Returns the values of a column in which no row may lack a value.
    ///
    /// # Errors
    /// As [`NamedColumn::values`], and if a row lacks a value.
    pub(crate) fn all<T: ColumnValue>(&self) -> Result<Vec<T>, String> {
        let lacks = |row: usize| format!("the column {:?} has no value in row {row}", self.name);
        let values = self.values::<T>()?.into_iter().enumerate();
        values
            .map(|(row, value)| value.ok_or_else(|| lacks(row)))
            .collect()
    }

    fn wrong_type(&self, wanted: &str) -> String {
        let found = self.column.data_type();
        format!(
            "the column {:?} has the type {found}, and has to have {wanted}",
            self.name
        )
    }

    fn whole<S>(&self) -> impl Iterator<Item = Option<i128>> + '_
    where
        S: ArrowPrimitiveType,
        S::Native: Into<i128>,
    {
        let values: &PrimitiveArray<S> = self.column.as_primitive::<S>();
        values.iter().map(|value| value.map(Into::into))
    }

    fn numbers<T: TryFrom<i128>>(&self) -> Result<Vec<Option<T>>, String> {
        let fit = |value: Option<i128>| {
            let fit = |value| {
                T::try_from(value)
                    .map_err(|_| format!("the column {:?} holds {value}, out of range", self.name))
            };
            value.map(fit).transpose()
        };
        match self.column.data_type() {
            DataType::UInt8 => self.whole::<UInt8Type>().map(fit).collect(),
            DataType::UInt16 => self.whole::<UInt16Type>().map(fit).collect(),
            DataType::UInt32 => self.whole::<UInt32Type>().map(fit).collect(),
            DataType::UInt64 => self.whole::<UInt64Type>().map(fit).collect(),
            DataType::Int8 => self.whole::<Int8Type>().map(fit).collect(),
            DataType::Int16 => self.whole::<Int16Type>().map(fit).collect(),
            DataType::Int32 => self.whole::<Int32Type>().map(fit).collect(),
            DataType::Int64 => self.whole::<Int64Type>().map(fit).collect(),
            DataType::Null => Ok((0..self.column.len()).map(|_| None).collect()),
            _ => Err(self.wrong_type("whole numbers")),
        }
    }
}

/// A type of values of columns.
pub(crate) trait ColumnValue: Sized {
    /// Returns the values of a column.
    fn values_of(column: &NamedColumn<'_>) -> Result<Vec<Option<Self>>, String>;
}

/// A value that a hash takes in.
pub(crate) trait Hashed {
    /// Adds the value.
    fn hashed(&self, hasher: &mut blake3::Hasher);
}

macro_rules! numbers {
    ($($number:ty),*) => {
        $(impl ColumnValue for $number {
            fn values_of(column: &NamedColumn<'_>) -> Result<Vec<Option<Self>>, String> {
                column.numbers()
            }
        }

        impl Hashed for $number {
            fn hashed(&self, hasher: &mut blake3::Hasher) {
                hasher.update(&self.to_le_bytes());
            }
        })*
    };
}

numbers!(u8, u32, u64, i32);

impl ColumnValue for bool {
    fn values_of(column: &NamedColumn<'_>) -> Result<Vec<Option<Self>>, String> {
        match column.column.data_type() {
            DataType::Boolean => Ok(column.column.as_boolean().iter().collect()),
            DataType::Null => Ok(vec![None; column.column.len()]),
            _ => Err(column.wrong_type("truth values")),
        }
    }
}

impl Hashed for bool {
    fn hashed(&self, hasher: &mut blake3::Hasher) {
        hasher.update(&[u8::from(*self)]);
    }
}

impl ColumnValue for String {
    fn values_of(column: &NamedColumn<'_>) -> Result<Vec<Option<Self>>, String> {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let array = column.column;
        match array.data_type() {
            DataType::Utf8 => Ok(array.as_string::<i32>().iter().map(owned).collect()),
            DataType::LargeUtf8 => Ok(array.as_string::<i64>().iter().map(owned).collect()),
            DataType::Utf8View => Ok(array.as_string_view().iter().map(owned).collect()),
            DataType::Null => Ok(vec![None; array.len()]),
            _ => Err(column.wrong_type("text")),
        }
    }
}

impl Hashed for String {
    fn hashed(&self, hasher: &mut blake3::Hasher) {
        hasher.update(&(self.len() as u64).to_le_bytes());
        hasher.update(self.as_bytes());
    }
}
