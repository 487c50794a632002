//! What can be wrong with an expression, and where.

use alloc::string::{String, ToString};
use core::fmt;
use core::ops::Range;

/// Why a text is no expression policy. It is written with the line in question and carets below the place.
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

    /// The byte of the text at which it stands.
    pub fn offset(&self) -> usize {
        self.at.start
    }

    /// How many bytes are meant; 0 at the end.
    pub fn bytes(&self) -> usize {
        self.at.len()
    }

    /// The letter of its line at which it stands, from 1.
    pub fn column(&self) -> usize {
        self.before().chars().count() + 1
    }

    /// What is wrong, without the place.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// How many letters of the line are meant: one at least.
    fn width(&self) -> usize {
        let rest = self.text.get(self.at.clone()).unwrap_or("");
        rest.lines().next().unwrap_or("").chars().count().max(1)
    }

    /// What stands before the place on its line.
    fn before(&self) -> &str {
        let before = self.text.get(..self.at.start).unwrap_or(&self.text);
        before.rsplit('\n').next().unwrap_or("")
    }

    /// The line of the text.
    fn line(&self) -> &str {
        let start = self.at.start.min(self.text.len()) - self.before().len();
        let rest = self.text.get(start..).unwrap_or("");
        rest.lines().next().unwrap_or("")
    }
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What moves the cursor would move the carets away from the place.
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
