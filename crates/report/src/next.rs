//! Commands that a reader can type.

use crate::printable;

/// Returns words as one command line for a shell, with quotes where a word needs them. Characters
/// that control a terminal are replaced, as [`printable`] does.
pub fn command_line<Word: AsRef<str>>(words: &[Word]) -> String {
    printable(&shell_words::join(words))
}

/// Returns the last lines of a table: the command that a reader probably wants next.
pub fn next(command: &str) -> String {
    format!("\nNext: {command}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        let line = command_line(&["awk", "BEGIN { print 1 }", "it's", "a\x1bb"]);
        assert_eq!(line, r#"awk 'BEGIN { print 1 }' 'it'\''s' a?b"#);
    }
}
