//! Fields of rows as values of events.

use broadleaf_units::Rights;
use serde::de::DeserializeOwned;

/// Returns the value of a column that the kind of event has.
pub(super) fn need<'v, T>(value: &'v Option<T>, column: &str, kind: &str) -> Result<&'v T, String> {
    let of = match kind {
        "" => String::new(),
        kind => format!(" for the event {kind:?}"),
    };
    value
        .as_ref()
        .ok_or_else(|| format!("the column {column:?} has no value{of}"))
}

/// Returns the value of a word.
pub(super) fn known<T: Copy>(word: &str, column: &str, words: &[(&str, T)]) -> Result<T, String> {
    let found = words.iter().find(|(known, _)| *known == word);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<&str> = words.iter().map(|(known, _)| *known).collect();
        format!(
            "the column {column:?} holds {word:?}: write {}",
            known.join(", ")
        )
    })
}

/// Reads JSON text.
pub(super) fn from_json<T: DeserializeOwned>(text: &str, column: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| format!("the column {column:?}: {error}"))
}

/// Rights as in `/proc/PID/maps`: `rw-`.
pub(super) fn rights_text(rights: Rights) -> String {
    let letters = [
        (rights.read, 'r'),
        (rights.write, 'w'),
        (rights.execute, 'x'),
    ];
    letters
        .iter()
        .map(|(is, letter)| if *is { *letter } else { '-' })
        .collect()
}

/// Reads rights.
pub(super) fn rights_of(text: &str) -> Result<Rights, String> {
    let is = |place: usize, letter: char| match text.chars().nth(place) {
        Some('-') => Ok(false),
        Some(found) if found == letter => Ok(true),
        _ => Err(format!(
            "the column \"rights\" holds {text:?}: write rights as \"rw-\""
        )),
    };
    Ok(Rights {
        read: is(0, 'r')?,
        write: is(1, 'w')?,
        execute: is(2, 'x')?,
    })
}
