//! Commands that a reader can type.

use std::borrow::Cow;
use std::ffi::OsString;

use broadleaf_metrics::{PageAnswer, SuggestedCommand};
use unicode_width::UnicodeWidthStr;

use crate::grid::indented;
use crate::{Style, View, paragraph, printable};

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

/// Returns the command that measures the gain of a policy for a program, with these options of the
/// governor. Without its words, the program is `COMMAND`.
pub fn baseline_command(policy: &str, limits: &[String], program: &[OsString]) -> String {
    let run = ["broadleaf", "run", "--baseline", "7", "--policy", policy];
    let limits = limits.iter().map(String::as_str);
    let run = run
        .into_iter()
        .chain(limits)
        .chain(["--"])
        .map(Cow::Borrowed);
    let unknown = program.is_empty().then_some(Cow::Borrowed("COMMAND"));
    let program = program.iter().map(|word| word.to_string_lossy());
    let words: Vec<Cow<'_, str>> = run.chain(unknown).chain(program).collect();
    command_line(&words)
}

/// Renders the sentence of an answer and its commands, after an empty line.
pub(crate) fn answer_text(answer: &PageAnswer, view: View) -> String {
    let sentence = paragraph(&answer.sentence, Style::Strong, view);
    format!("\n{sentence}{}", what_to_type("", &answer.commands, view))
}

/// Renders commands, if any, each below its purpose. `of` is the end of the title.
pub(crate) fn what_to_type(of: &str, commands: &[SuggestedCommand], view: View) -> String {
    if commands.is_empty() {
        return String::new();
    }
    let mut out = format!("\nWhat to type now{of}:\n");
    for suggested in commands {
        out.push_str(&indented(2, &suggested.purpose, Style::Plain, view));
        if !suggested.command.is_empty() {
            for line in command_lines(&suggested.command, view.width) {
                out.push_str(&format!("    {line}\n"));
            }
        }
    }
    out
}

/// Breaks a command line between words, so that its lines fit a width beside their margins. A shell
/// reads the lines as one, since all but the last end with a backslash.
fn command_lines(command: &str, width: Option<usize>) -> Vec<String> {
    const MARGIN: usize = 4;
    const CONTINUED: &str = " \\";
    let Some(room) = width.map(|width| width.saturating_sub(MARGIN)) else {
        return vec![command.to_owned()];
    };
    let mut lines: Vec<String> = Vec::new();
    for word in shell_words_of(command) {
        match lines.last_mut() {
            Some(line) if (line.width() + 1 + word.width() + CONTINUED.len()) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            Some(line) => {
                line.push_str(CONTINUED);
                lines.push(format!("  {word}"));
            }
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Returns the words of a command line as they are written, with their quotes.
fn shell_words_of(command: &str) -> Vec<&str> {
    let mut words = Vec::new();
    // The start of the word, the open quote, and true after a backslash.
    let (mut start, mut open, mut is_escaped) = (0, None, false);
    let mut before = ' ';
    let mut is_ansi = false;
    for (at, letter) in command.char_indices() {
        match (open, letter) {
            _ if is_escaped => is_escaped = false,
            (Some('\''), '\\') if !is_ansi => {}
            (_, '\\') => is_escaped = true,
            (Some(quote), letter) if letter == quote => open = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => {
                open = Some(letter);
                is_ansi = letter == '\'' && before == '$';
            }
            (None, ' ') => {
                words.push(&command[start..at]);
                start = at + 1;
            }
            (None, _) => {}
        }
        before = letter;
    }
    words.push(&command[start..]);
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_commands_break_between_words_and_stay_one_command() {
        let command =
            r"echo 'a b'\''c d' $'it\'s e' f\ g | sudo tee /sys/kernel/mm/transparent_hugepage/x";
        let words = shell_words_of(command);
        assert_eq!(words[1..5], [r"'a b'\''c d'", r"$'it\'s e'", r"f\ g", "|"]);
        let lines = command_lines(command, Some(60));
        assert!(
            lines.len() > 1 && lines.iter().all(|line| line.len() <= 56),
            "{lines:?}"
        );
        let joined = lines.join("\n").replace(" \\\n  ", " ");
        assert_eq!(joined, command);
        assert_eq!(command_lines(command, None), [command]);
    }

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
