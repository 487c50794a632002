//! Errors in an expression, with their positions.

use alloc::string::{String, ToString};
use core::fmt;
use core::ops::Range;

/// An error in an expression. It prints the faulty line with carets below the position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionError {
    text: String,
    at: Range<usize>,
    message: String,
}

impl ExpressionError {
    /// An error about these bytes of a text, which begin and end between letters.
    pub(super) fn new(text: &str, at: Range<usize>, message: impl ToString) -> Self {
        Self {
            text: text.to_string(),
            at,
            message: message.to_string(),
        }
    }

    /// The byte offset of the error in the text.
    pub fn offset(&self) -> usize {
        self.at.start
    }

    /// The length of the faulty text in bytes; 0 at the end.
    pub fn bytes(&self) -> usize {
        self.at.len()
    }

    /// The column of the error in its line, in characters from 1.
    pub fn column(&self) -> usize {
        self.before().chars().count() + 1
    }

    /// The description, without the position.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The number of carets: the length of the faulty text in characters, at least 1.
    fn width(&self) -> usize {
        let rest = self.text.get(self.at.clone()).unwrap_or("");
        rest.lines().next().unwrap_or("").chars().count().max(1)
    }

    /// The text before the error on its line.
    fn before(&self) -> &str {
        let before = self.text.get(..self.at.start).unwrap_or(&self.text);
        before.rsplit('\n').next().unwrap_or("")
    }

    /// The line of the error.
    fn line(&self) -> &str {
        let start = self.at.start.min(self.text.len()) - self.before().len();
        let rest = self.text.get(start..).unwrap_or("");
        rest.lines().next().unwrap_or("")
    }
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A control character would misplace the carets.
        let line: String = (self.line().chars())
            .map(|letter| if letter.is_control() { ' ' } else { letter })
            .collect();
        write!(
            f,
            "column {}: {}\n  {line}\n  {}{}",
            self.column(),
            self.message,
            " ".repeat(self.column() - 1),
            "^".repeat(self.width()),
        )
    }
}

impl core::error::Error for ExpressionError {}
