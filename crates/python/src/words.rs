//! Words of a fixed vocabulary, in both directions.

use pyo3::prelude::*;

use crate::errors::invalid;

/// Returns the value of a word.
///
/// # Errors
/// `InvalidInput` if the word is unknown. The message lists all words.
pub(crate) fn value_of<T: Copy>(
    py: Python<'_>,
    meaning: &str,
    word: &str,
    known: &[(&'static str, T)],
) -> PyResult<T> {
    let found = known.iter().find(|(name, _)| *name == word);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        invalid(
            py,
            format!("{meaning}={word:?} is unknown: write {}", names.join(", ")),
        )
    })
}

/// Returns the word of a value; the list holds all values.
pub(crate) fn word_of<T: PartialEq>(value: &T, known: &[(&'static str, T)]) -> &'static str {
    let found = known.iter().find(|(_, known)| known == value);
    found.map_or("", |(name, _)| name)
}
