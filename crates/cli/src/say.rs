//! Messages of a command on standard error, beside its result.
//!
//! Standard error may be closed, full, or a pipe without a reader. The command continues, and its
//! exit status reports success or failure. `eprintln!` would panic, so `clippy.toml` forbids it.

use std::fmt::Display;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use broadleaf_report::{MESSAGE_START, View, beside_name, fold_message, log_line, printable};
use clap::ValueEnum;
use log::{Level, LevelFilter, Log, Metadata, Record};

use crate::terminal::width_of;

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
        text(&format!("{MESSAGE_START}{words}\n"));
    }
}

/// Prints lines, with control characters escaped for terminals. On a terminal, messages are folded
/// at its width, as tables are. A message on a pipe is one line.
pub(crate) fn text(lines: &str) {
    let width = width_of(std::io::stderr());
    let lines: Vec<String> = lines
        .split('\n')
        .map(|line| fold_message(&printable(line), width))
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

/// [`say()`], with the arguments of `format!`.
macro_rules! say {
    ($($words:tt)*) => {
        $crate::say::say(format_args!($($words)*))
    };
}
