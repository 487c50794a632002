//! Values of an experiment file, with their places for messages.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::KeyTable;
use crate::failure::Failure;
use crate::in_file::InFile;
use broadleaf_units::no_key;

/// A text of the file, with its place.
#[derive(Clone, Debug)]
pub(super) struct PlacedText {
    pub(super) text: String,
    pub(super) at: Range<usize>,
}

pub(super) type PlacedValue<'v> = Spanned<DeValue<'v>>;

/// Refuses keys that a table does not have. The message names the nearest known key.
pub(super) fn check_keys(
    file: &InFile<'_>,
    table: &DeTable<'_>,
    kind: KeyTable,
) -> Result<(), Failure> {
    let mut unknown: Vec<_> = (table.keys())
        .filter(|key| !kind.names().contains(&&**key.get_ref()))
        .collect();
    unknown.sort_by_key(|key| key.span().start);
    match unknown.first() {
        Some(key) => Err(file.wrong(key.span(), &no_key(key.get_ref(), &kind.names()))),
        None => Ok(()),
    }
}

/// One value as text: a text, a number or a flag.
pub(super) fn scalar(file: &InFile<'_>, value: &PlacedValue<'_>) -> Result<PlacedText, Failure> {
    let text = match value.get_ref() {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => number.as_str().replace('_', ""),
        DeValue::Float(number) => number.as_str().replace('_', ""),
        DeValue::Boolean(flag) => flag.to_string(),
        _ => return Err(file.wrong(value.span(), "this has to be a text, a number or a flag")),
    };
    let at = value.span();
    Ok(PlacedText { text, at })
}

/// One value, or the values of a list.
pub(super) fn list(file: &InFile<'_>, value: &PlacedValue<'_>) -> Result<Vec<PlacedText>, Failure> {
    let values = match value.get_ref() {
        DeValue::Array(values) => values.iter().map(|value| scalar(file, value)).collect(),
        _ => scalar(file, value).map(|value| vec![value]),
    }?;
    match values.is_empty() {
        true => Err(file.wrong(value.span(), "an empty list leaves no cell: give a value")),
        false => Ok(values),
    }
}

/// A flag.
pub(super) fn flag(file: &InFile<'_>, value: &PlacedValue<'_>) -> Result<bool, Failure> {
    match value.get_ref() {
        DeValue::Boolean(flag) => Ok(*flag),
        _ => Err(file.wrong(value.span(), "this has to be true or false")),
    }
}

/// A whole number above zero.
pub(super) fn count(file: &InFile<'_>, value: &PlacedValue<'_>) -> Result<u64, Failure> {
    let number = scalar(file, value)?;
    let parsed = number.text.parse::<u64>().ok().filter(|number| *number > 0);
    parsed.ok_or_else(|| file.wrong(number.at, "this has to be a whole number above 0"))
}

/// A table.
pub(super) fn table<'v, 't>(
    file: &InFile<'_>,
    value: &'v PlacedValue<'t>,
) -> Result<&'v DeTable<'t>, Failure> {
    let table = value.get_ref().as_table();
    table.ok_or_else(|| file.wrong(value.span(), "this has to be a table"))
}

/// One table, or the tables of a list.
pub(super) fn tables<'v, 't>(
    file: &InFile<'_>,
    value: &'v PlacedValue<'t>,
) -> Result<Vec<&'v DeTable<'t>>, Failure> {
    match value.get_ref() {
        DeValue::Array(values) => values.iter().map(|value| table(file, value)).collect(),
        _ => table(file, value).map(|table| vec![table]),
    }
}
