//! Errors in a file, with the line and a marker below the position.

use std::ops::Range;
use std::path::Path;

use broadleaf_policy::ExpressionError;

use crate::failure::Failure;
use crate::output::shown;

/// Reads a file as text.
///
/// # Errors
/// If the file cannot be read or is not UTF-8; the error names the place.
pub fn read(path: &Path) -> Result<String, Failure> {
    let name = shown(path);
    let bytes = std::fs::read(path).map_err(|error| Failure::reading(&name, &error))?;
    utf8(&name, bytes)
}

/// Converts the bytes of the file `name` to text.
///
/// # Errors
/// If the bytes are not UTF-8; the error names the place.
pub fn utf8(name: &str, bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let before = &error.as_bytes()[..at];
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        Failure::Wrong(format!(
            "{name}: is not UTF-8 text: byte {at}, in line {line}, begins no character: save the \
             file as UTF-8"
        ))
    })
}

/// A file that was read.
pub struct InFile<'a> {
    /// The name for messages.
    pub name: &'a str,
    /// The contents.
    pub text: &'a str,
}

impl InFile<'_> {
    /// An error inside a text whose literal is in the file.
    pub fn inside(&self, text: &str, span: &Range<usize>, error: &ExpressionError) -> Failure {
        let literal = self.text.get(span.clone()).unwrap_or("");
        // A literal with escapes differs from the text that was read.
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

    /// An error with its line and a marker below the position.
    pub fn wrong(&self, at: Range<usize>, message: &str) -> Failure {
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
