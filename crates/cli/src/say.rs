//! What a command says beside its result, on standard error.
//!
//! Standard error may be closed, full, or a pipe that nobody reads any more. The work goes on, and
//! the exit status tells how it ended. `eprintln!` would panic, so `clippy.toml` forbids it.

use std::fmt::Display;
use std::io::Write;

use broadleaf_report::printable;

/// Says `words` to the user, after the name of the command. Its lines hold nothing that a terminal
/// would obey.
pub(crate) fn say(words: impl Display) {
    text(&format!("broadleaf: {words}\n"));
}

/// Writes lines, as they are but for what a terminal would obey.
pub(crate) fn text(lines: &str) {
    let lines: Vec<String> = lines.split('\n').map(printable).collect();
    // Nobody is left to hear of a failure.
    let _ = std::io::stderr().write_all(lines.join("\n").as_bytes());
}

/// [`say()`], with the arguments of `format!`.
macro_rules! say {
    ($($words:tt)*) => {
        $crate::say::say(format_args!($($words)*))
    };
}
