//! Errors of a machine's description.

/// The reason why a text does not describe a machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "line {line}{}: {message}",
    match key.as_str() { "" => String::new(), key => format!(", {key}") }
)]
pub struct MachineError {
    /// The line number in the text, from 1.
    pub line: usize,
    /// The key. Empty if there is none.
    pub key: String,
    /// The reason.
    pub message: String,
}

impl MachineError {
    /// An error about byte `at` of `text`.
    pub(crate) fn at(text: &str, at: usize, message: impl Into<String>) -> Self {
        let at = at.min(text.len());
        let before = &text.as_bytes()[..at];
        let line = before.iter().filter(|byte| **byte == b'\n').count();
        let written = text.lines().nth(line).unwrap_or("").trim();
        let key = match written.split_once('=') {
            Some((key, _)) if !key.trim_start().starts_with('#') => key.trim(),
            _ if written.starts_with('[') => written,
            _ => "",
        };
        Self {
            line: line + 1,
            key: key.to_string(),
            message: message.into(),
        }
    }
}
