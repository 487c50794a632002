//! Messages of a command on standard error, beside its result.
//!
//! Standard error may be closed, full, or a pipe without a reader. The command continues, and its
//! exit status reports success or failure. `eprintln!` would panic, so `clippy.toml` forbids it.

use std::fmt::Display;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use broadleaf_report::{View, log_line, printable, wrap};
use clap::ValueEnum;
use log::{Level, LevelFilter, Log, Metadata, Record};

use crate::terminal::width_of;

/// The start of every message.
const NAME: &str = "broadleaf: ";

/// True if messages are objects of JSON.
static JSON: AtomicBool = AtomicBool::new(false);

/// The form of messages on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Sentences for people
    Text,
    /// One JSON object a line for programs, with time, level, message, event and figures
    Json,
}

impl LogFormat {
    /// Gives all messages from here on this form.
    pub(crate) fn set(self) {
        JSON.store(self == Self::Json, Ordering::Relaxed);
    }
}

/// Prints `words` after the name of the command. Control characters are escaped for terminals.
pub(crate) fn say(words: impl Display) {
    message(Level::Info, words);
}

/// Prints why the command failed.
pub(crate) fn failure(words: impl Display) {
    message(Level::Error, words);
}

fn message(level: Level, words: impl Display) {
    if JSON.load(Ordering::Relaxed) {
        let arguments = format_args!("{words}");
        let record = Record::builder().level(level).args(arguments).build();
        write(&log_line(&record, SystemTime::now()));
    } else {
        text(&format!("{NAME}{words}\n"));
    }
}

/// Prints lines, with control characters escaped for terminals. On a terminal, messages are folded
/// at its width, as tables are. A message on a pipe is one line.
pub(crate) fn text(lines: &str) {
    let width = width_of(std::io::stderr());
    let lines: Vec<String> = lines
        .split('\n')
        .map(|line| folded(&printable(line), width))
        .collect();
    write(&lines.join("\n"));
}

fn write(text: &str) {
    // There is no other stream on which to report a failure.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// The view of a table whose lines are messages.
pub(crate) fn table_view() -> View {
    beside_name(width_of(std::io::stderr()))
}

/// The view of lines after the name of the command, on a terminal of this width.
fn beside_name(width: Option<usize>) -> View {
    View {
        width: width.map(|width| width.saturating_sub(NAME.len())),
        ..View::default()
    }
}

/// Prints the notes of libraries as the command's own.
struct Libraries;

impl Log for Libraries {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("broadleaf")
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        match JSON.load(Ordering::Relaxed) {
            true => write(&log_line(record, SystemTime::now())),
            false => say(record.args()),
        }
    }

    fn flush(&self) {}
}

/// Prints the notes of this project's libraries from here on. Other libraries log for their
/// developers.
pub(crate) fn listen_to_libraries() {
    // A second logger would be refused. This is the one call, at the start of `main`.
    let _ = log::set_logger(&Libraries);
    log::set_max_level(LevelFilter::Info);
}

/// A message in lines of at most `width` characters. Other lines are parts of tables, and stay.
fn folded(line: &str, width: Option<usize>) -> String {
    match width {
        Some(width @ 1..) if line.starts_with(NAME) => wrap(line, width).join("\n"),
        _ => line.to_owned(),
    }
}

/// [`say()`], with the arguments of `format!`.
macro_rules! say {
    ($($words:tt)*) => {
        $crate::say::say(format_args!($($words)*))
    };
}

#[cfg(test)]
mod tests {
    use broadleaf_report::{Align, Grid};

    use super::*;

    #[test]
    fn messages_are_folded_on_terminals_only() {
        let message = "broadleaf: one two three four";
        assert_eq!(folded(message, None), message);
        assert_eq!(folded(message, Some(16)), "broadleaf: one\ntwo three four");
        let row = "  superpages      0 made, 0 broken";
        assert_eq!(folded(row, Some(16)), row);
    }

    /// The lines of such a table fit the terminal, so folding leaves its columns.
    #[test]
    fn tables_after_the_name_keep_their_columns() {
        let mut grid = Grid::new()
            .column("accelerator", Align::Left)
            .column("used", Align::Left)
            .column("what it does", Align::Left);
        let sentence = "keeps blocks of 2 MiB without frames; relies on memory without limits";
        grid.row(["blocks", "yes", sentence]);
        let table = grid.render(beside_name(Some(60)));
        assert!(table.lines().count() > 3, "{table}");
        for line in table.lines() {
            let message = format!("{NAME}{line}");
            assert_eq!(folded(&message, Some(60)), message);
        }
    }
}
