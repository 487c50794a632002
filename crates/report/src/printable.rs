//! Foreign texts on a terminal.

/// Returns `text` on one line, without characters that control a terminal. Programs and files may
/// have any name.
///
/// Control characters, line and paragraph separators, and the marks that reverse the direction of
/// writing become `?`.
pub fn printable(text: &str) -> String {
    let is_obeyed = |letter: char| {
        letter.is_control()
            || matches!(
                letter,
                '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            )
    };
    text.replace(is_obeyed, "?")
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn nothing_moves_the_cursor_or_reverses_the_line() {
        assert_eq!(
            printable("a\x1b[2Jb\nc\u{9b}1md\u{202e}e\u{2028}f"),
            "a?[2Jb?c?1md?e?f"
        );
        assert_eq!(printable("größe 4 KiB – 字"), "größe 4 KiB – 字");
    }
}
