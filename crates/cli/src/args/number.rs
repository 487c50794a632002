//! Whole numbers as arguments.

use std::num::NonZero;
use std::time::Duration;

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

/// Parses a time from a tenth of a second to an hour, in seconds.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok();
    let seconds = seconds.filter(|seconds| (0.1..=3600.0).contains(seconds));
    let seconds = seconds.map(Duration::from_secs_f64);
    seconds.ok_or_else(|| "a time is 0.1 to 3600 seconds".to_owned())
}

/// Parses the number of a process.
pub(super) fn process(text: &str) -> Result<u32, String> {
    let pid = text.parse().ok().filter(|pid| *pid > 0);
    pid.ok_or_else(|| {
        "a process is named by its number: `pgrep NAME` prints the numbers of a program".to_owned()
    })
}

/// Parses a number of instructions, at least one: `250000000` or `2.5e8`.
pub(super) fn instructions(text: &str) -> Result<u64, String> {
    let whole = text.parse::<u64>().ok();
    let number = whole.or_else(|| {
        let number = text.parse::<f64>().ok()?;
        (1.0..=1e18)
            .contains(&number)
            .then_some(number.round() as u64)
    });
    number
        .filter(|number| *number > 0)
        .ok_or_else(|| "write a number of instructions from 1 on, as 250000000 or 2.5e8".to_owned())
}
