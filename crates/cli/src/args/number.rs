//! Whole numbers as arguments.

use std::num::NonZero;

/// Parses a number of things, at least one.
pub(super) fn count(text: &str) -> Result<NonZero<usize>, String> {
    text.parse()
        .map_err(|_| "write a whole number from 1 on".to_owned())
}

/// Parses a number of rounds, at least one.
pub(super) fn rounds(text: &str) -> Result<NonZero<u32>, String> {
    text.parse()
        .map_err(|_| "write a whole number from 1 on".to_owned())
}

/// Parses the number of a process.
pub(super) fn process(text: &str) -> Result<u32, String> {
    let pid = text.parse().ok().filter(|pid| *pid > 0);
    pid.ok_or_else(|| {
        "a process is named by its number: `pgrep NAME` prints the numbers of a program".to_owned()
    })
}
