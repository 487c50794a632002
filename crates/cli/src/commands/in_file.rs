//! Refusals of what stands in a file, with the line and the place below it.

use std::ops::Range;

use broadleaf_policy::ExpressionError;

use crate::failure::Failure;

/// A file that was read.
pub(super) struct InFile<'a> {
    pub(super) name: &'a str,
    pub(super) text: &'a str,
}

impl InFile<'_> {
    /// An error inside a text, whose literal stands there in the file.
    pub(super) fn inside(
        &self,
        text: &str,
        span: &Range<usize>,
        error: &ExpressionError,
    ) -> Failure {
        let literal = self.text.get(span.clone()).unwrap_or("");
        // Where something is escaped, what was read is not what stands there, letter for letter.
        match literal.find(text) {
            Some(from) => {
                let start = span.start + from + error.offset();
                self.wrong(start..start + error.bytes(), error.message())
            }
            None => self.wrong(
                span.clone(),
                &format!(
                    "column {} of the expression: {}",
                    error.column(),
                    error.message()
                ),
            ),
        }
    }

    /// What is wrong, with the line and the place below it.
    pub(super) fn wrong(&self, at: Range<usize>, message: &str) -> Failure {
        let before = self.text.get(..at.start).unwrap_or(self.text);
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        let line = self.text[start..].lines().next().unwrap_or("");
        let column = before[start..].chars().count();
        let meant = self.text.get(at).unwrap_or("").lines().next().unwrap_or("");
        Failure::Wrong(format!(
            "{}: line {}, column {}: {message}\n  {}\n  {}{}",
            self.name,
            before.matches('\n').count() + 1,
            column + 1,
            line.replace(char::is_control, " "),
            " ".repeat(column),
            "^".repeat(meant.chars().count().max(1)),
        ))
    }
}
