//! Reads the values of a TOML table. A refusal names the place of the value.

use super::fault::{Fault, Wrong};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Returns the refusal of a value.
pub(super) fn invalid(at: Range<usize>, message: impl Into<String>) -> Wrong {
    let fault = Fault::Invalid(message.into());
    Wrong { at, fault }
}

/// A table whose keys are all known.
pub(super) struct TableReader<'a> {
    table: &'a DeTable<'a>,
}

impl<'a> TableReader<'a> {
    /// Checks the keys of a table.
    ///
    /// # Errors
    /// Returns the first key that is not among the `known` keys.
    pub(super) fn of(table: &'a DeTable<'a>, known: Vec<&'static str>) -> Result<Self, Wrong> {
        let strange = table
            .keys()
            .filter(|key| !known.contains(&&**key.get_ref()));
        match strange.min_by_key(|key| key.span().start) {
            None => Ok(Self { table }),
            Some(key) => Err(Wrong {
                at: key.span(),
                fault: Fault::UnknownKey {
                    found: key.get_ref().to_string(),
                    known,
                },
            }),
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.table.get(key)
    }

    /// Returns the place of a key.
    pub(super) fn key(&self, name: &str) -> Option<Range<usize>> {
        self.table.get_key_value(name).map(|(key, _)| key.span())
    }

    /// Returns a text value and its place.
    pub(super) fn text(&self, key: &str) -> Result<Option<(&'a str, Range<usize>)>, Wrong> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        match value.get_ref().as_str() {
            Some(text) => Ok(Some((text, value.span()))),
            None => Err(invalid(
                value.span(),
                format!("{key} has to be a text, in quotes"),
            )),
        }
    }

    /// Returns a text value after `parse`.
    pub(super) fn parsed<T, E: Into<String>>(
        &self,
        key: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, Wrong> {
        let Some((text, at)) = self.text(key)? else {
            return Ok(None);
        };
        parse(text)
            .map(Some)
            .map_err(|message| invalid(at, message))
    }

    /// Returns a whole number within a range.
    pub(super) fn number(
        &self,
        key: &str,
        range: std::ops::RangeInclusive<u64>,
        unit: &str,
    ) -> Result<Option<u64>, Wrong> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        let number = whole(value.get_ref()).filter(|number| range.contains(number));
        let message = || {
            format!(
                "{key} has to be {} to {} {unit}, a whole number",
                range.start(),
                range.end()
            )
        };
        number
            .map(Some)
            .ok_or_else(|| invalid(value.span(), message()))
    }

    /// Returns true if the value is `true`.
    pub(super) fn flag(&self, key: &str) -> Result<bool, Wrong> {
        let Some(value) = self.get(key) else {
            return Ok(false);
        };
        let flag = value.get_ref().as_bool();
        flag.ok_or_else(|| invalid(value.span(), format!("{key} has to be true or false")))
    }
}

/// Returns a whole number that is not negative.
pub(super) fn whole(value: &DeValue<'_>) -> Option<u64> {
    let number = value.as_integer()?;
    u64::from_str_radix(number.as_str(), number.radix()).ok()
}
