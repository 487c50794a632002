//! Commands that a reader can type.

use crate::printable;

/// Returns words as one command line for a shell, with quotes where a word needs them. Characters
/// that control a terminal are written as escapes of bash and zsh.
pub fn command_line<Word: AsRef<str>>(words: &[Word]) -> String {
    let quoted = words.iter().enumerate();
    let quoted = quoted.map(|(at, word)| quoted_word(word.as_ref(), at == 0));
    quoted.collect::<Vec<_>>().join(" ")
}

/// Quotes a word if a shell would change it. The first word must be no assignment.
fn quoted_word(word: &str, is_first: bool) -> String {
    if word.contains(char::is_control) {
        let escaped: String = word.chars().map(escaped).collect();
        return printable(&format!("$'{escaped}'"));
    }
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_./:=@%+,-".contains(letter);
    if !is_first && !word.is_empty() && !word.starts_with('=') && word.chars().all(is_plain) {
        return word.to_owned();
    }
    printable(&shell_words::quote(word))
}

/// Returns a character as it is written between `$'` and `'`.
fn escaped(letter: char) -> String {
    match letter {
        '\n' => "\\n".to_owned(),
        '\t' => "\\t".to_owned(),
        '\'' | '\\' => format!("\\{letter}"),
        // Others than those of ASCII are kept for `printable`.
        control if control.is_ascii_control() => format!("\\x{:02x}", u32::from(control)),
        other => other.to_string(),
    }
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
        let line = command_line(&["awk", "BEGIN { print 1 }", "it's", "A=b", "", "=c"]);
        assert_eq!(line, r#"awk 'BEGIN { print 1 }' 'it'\''s' A=b '' '=c'"#);
        assert_eq!(command_line(&["A=b"]), "'A=b'");
    }

    #[test]
    fn characters_that_control_a_terminal_are_escapes() {
        let line = command_line(&["python3", "-c", "a = 1\n\tb = '\\'\x1b"]);
        assert_eq!(line, r"python3 -c $'a = 1\n\tb = \'\\\'\x1b'");
    }
}
