//! Messages of a command on standard error, beside its result.
//!
//! Standard error may be closed, full, or a pipe without a reader. The command continues, and its
//! exit status reports success or failure. `eprintln!` would panic, so `clippy.toml` forbids it.

use std::fmt::Display;
use std::io::Write;

use broadleaf_report::printable;

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

/// [`say()`], with the arguments of `format!`.
macro_rules! say {
    ($($words:tt)*) => {
        $crate::say::say(format_args!($($words)*))
    };
}
