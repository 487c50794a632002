//! Messages of a command on standard error, beside its result.
//!
//! Standard error may be closed, full, or a pipe without a reader. The command continues, and its
//! exit status reports success or failure. `eprintln!` would panic, so `clippy.toml` forbids it.

use std::fmt::Display;
use std::io::Write;

use broadleaf_report::printable;
use log::{LevelFilter, Log, Metadata, Record};

/// Prints `words` after the name of the command. Control characters are escaped for terminals.
pub(crate) fn say(words: impl Display) {
    text(&format!("broadleaf: {words}\n"));
}

/// Prints lines, with control characters escaped for terminals.
pub(crate) fn text(lines: &str) {
    let lines: Vec<String> = lines.split('\n').map(printable).collect();
    // There is no other stream on which to report a failure.
    let _ = std::io::stderr().write_all(lines.join("\n").as_bytes());
}

/// Prints the notes of libraries as the command's own.
struct Libraries;

impl Log for Libraries {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // Other libraries log for their developers.
        metadata.target().starts_with("broadleaf")
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            say(record.args());
        }
    }

    fn flush(&self) {}
}

/// Prints the warnings that libraries log from here on.
pub(crate) fn listen_to_libraries() {
    // A second logger would be refused; there is one call, at the start of `main`.
    let _ = log::set_logger(&Libraries);
    log::set_max_level(LevelFilter::Warn);
}

/// [`say()`], with the arguments of `format!`.
macro_rules! say {
    ($($words:tt)*) => {
        $crate::say::say(format_args!($($words)*))
    };
}
