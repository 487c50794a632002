//! Stalls: the time that a program may have waited because the kernel changed its memory.

use crate::ward::Patience;
use hdrhistogram::Histogram;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The most blocks of one call.
const MOST_BLOCKS: usize = 16;
/// The target time of a call without a limit for one stall: a call gets the blocks that fit into
/// about this time.
const USUAL: Duration = Duration::from_millis(10);

/// The stalls that a user allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StallLimit {
    /// The share of the time in which superpages are made, in hundredths of a percent.
    pub share: u32,
    /// The longest time that one call of the kernel may take.
    pub longest: Option<Duration>,
}

impl StallLimit {
    /// Four fifths of the time, and no limit for one stall.
    pub const DEFAULT: Self = Self {
        share: 8000,
        longest: None,
    };
}

impl FromStr for StallLimit {
    type Err = String;

    /// Reads `80%`, `5ms`, `500us`, `0.1s` or a percentage and a time with a comma between.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut limit = Self::DEFAULT;
        let (mut shares, mut times) = (0, 0);
        for part in text.split(',').map(str::trim) {
            match time(part) {
                Some(time) => {
                    limit.longest = Some(time);
                    times += 1;
                }
                None => {
                    limit.share = crate::budget::percent(part)
                        .map_err(|error| format!("{error}; the longest stall is a time as 5ms"))?;
                    shares += 1;
                }
            }
        }
        if shares > 1 || times > 1 {
            return Err(format!(
                "\"{text}\" names the same limit twice; write one percentage, one time, or both as \
                 80%,5ms"
            ));
        }
        Ok(limit)
    }
}

/// A time of at least a microsecond with its unit: `us`, `ms` or `s`.
fn time(text: &str) -> Option<Duration> {
    let units = [("us", 1e6), ("ms", 1e3), ("s", 1.0)];
    let (number, parts) =
        (units.iter()).find_map(|(unit, parts)| Some((text.strip_suffix(unit)?, parts)))?;
    let seconds = number.trim_end().parse::<f64>().ok()? / parts;
    (1e-6..=3600.0)
        .contains(&seconds)
        .then(|| Duration::from_secs_f64(seconds))
}

impl fmt::Display for StallLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", f64::from(self.share) / 100.0)?;
        match self.longest {
            Some(longest) => write!(f, ",{}us", longest.as_micros()),
            None => Ok(()),
        }
    }
}

/// The stalls of a governor's programs. The kernel holds the lock of a program's address space
/// while it promotes or splits a block. So each call counts as a stall of its whole length. That
/// count is an upper bound: a thread waits only if it faults or touches one of the blocks
/// meanwhile.
#[derive(Clone, Debug)]
pub struct Stalls {
    /// Microseconds of each call.
    calls: Histogram<u32>,
    total: Duration,
    longest: Duration,
    too_long: u64,
    /// The estimated time of a block. The estimate comes from recent calls and is on the high side.
    block: Duration,
    /// The pause after a block that took too long.
    pause: Patience,
}

/// A summary of stalls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StallSummary {
    /// Kernel calls that promoted or split blocks.
    pub count: u64,
    /// The 99th percentile of the calls.
    pub p99: Duration,
    /// The longest call.
    pub longest: Duration,
    /// The time of all calls.
    pub total: Duration,
    /// Calls that took longer than the user allows.
    pub too_long: u64,
}

impl Default for Stalls {
    fn default() -> Self {
        Self {
            // Two significant digits: the error of a quantile is at most a hundredth.
            calls: Histogram::new(2).unwrap_or_else(|_| unreachable!("2 digits are allowed")),
            total: Duration::ZERO,
            longest: Duration::ZERO,
            too_long: 0,
            block: Duration::ZERO,
            pause: Patience::default(),
        }
    }
}

impl Stalls {
    /// The summary so far.
    pub fn summary(&self) -> StallSummary {
        StallSummary {
            count: self.calls.len(),
            p99: Duration::from_micros(self.calls.value_at_quantile(0.99)).min(self.longest),
            longest: self.longest,
            total: self.total,
            too_long: self.too_long,
        }
    }

    /// The number of blocks for the next call, so that the call takes no longer than allowed. With
    /// a limit, the first call is for one block.
    pub(crate) fn blocks(&self, allowed: Option<Duration>) -> usize {
        if self.block.is_zero() {
            return if allowed.is_some() { 1 } else { MOST_BLOCKS };
        }
        let fit = allowed.unwrap_or(USUAL).as_nanos() / self.block.as_nanos();
        usize::try_from(fit)
            .unwrap_or(MOST_BLOCKS)
            .clamp(1, MOST_BLOCKS)
    }

    /// Returns true if promotions wait because a block took too long.
    pub(crate) fn waits(&self, at: Duration) -> bool {
        self.pause.waits(at)
    }

    /// Notes a call that made no superpage and ended at `at`. A refusal may take microseconds, so
    /// the estimate for a block does not change, and neither does a pause. Only a call that took
    /// too long starts a pause.
    pub(crate) fn note_in_vain(
        &mut self,
        at: Duration,
        blocks: usize,
        took: Duration,
        allowed: Option<Duration>,
    ) {
        self.count(took);
        if allowed.is_some_and(|allowed| took > allowed) {
            self.note_too_long(at, blocks, took);
        }
    }

    /// Notes a call that promoted blocks and ended at `at`. If a call for one block took too long,
    /// promotions wait from here on, twice as long each time in a row.
    pub(crate) fn note(
        &mut self,
        at: Duration,
        blocks: usize,
        took: Duration,
        allowed: Option<Duration>,
    ) {
        self.count(took);
        let each = took / u32::try_from(blocks.max(1)).unwrap_or(u32::MAX);
        self.block = each.max(self.block * 3 / 4);
        if allowed.is_some_and(|allowed| took > allowed) {
            self.note_too_long(at, blocks, took);
        } else if blocks <= 1 {
            self.pause.end();
        }
    }

    fn note_too_long(&mut self, at: Duration, blocks: usize, took: Duration) {
        self.too_long += 1;
        // Blocks differ: the next call is for one.
        self.block = took;
        if blocks <= 1 {
            self.pause
                .wait(at, Duration::from_secs(1), Duration::from_secs(60));
        }
    }

    fn count(&mut self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        // The histogram grows as needed. A time beyond its range does not occur.
        let _ = self.calls.record(micros);
        self.total += took;
        self.longest = self.longest.max(took);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn limits_are_read_as_they_are_written() {
        for (text, share, longest, printed) in [
            ("80%", 8000, None, "80%"),
            ("12.5 %", 1250, None, "12.5%"),
            ("5ms", 8000, Some(MS(5)), "80%,5000us"),
            (
                "20%,500us",
                2000,
                Some(Duration::from_micros(500)),
                "20%,500us",
            ),
            ("0.1s, 7", 700, Some(MS(100)), "7%,100000us"),
        ] {
            let limit: StallLimit = text.parse().unwrap();
            assert_eq!(limit, StallLimit { share, longest }, "{text}");
            assert_eq!(limit.to_string(), printed);
            assert_eq!(printed.parse(), Ok(limit));
        }
        for text in [
            "", "0%", "101%", "0ms", "5 hours", "1ms,2ms", "1%,2%", "-1ms", "nanms", ",",
        ] {
            assert!(text.parse::<StallLimit>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_call_has_as_many_blocks_as_the_limit_allows() {
        let mut stalls = Stalls::default();
        assert_eq!((stalls.blocks(None), stalls.blocks(Some(MS(3)))), (16, 1));
        stalls.note(MS(1), 1, MS(1), Some(MS(3)));
        assert_eq!((stalls.blocks(None), stalls.blocks(Some(MS(3)))), (10, 3));
        // A block that took longer counts at once, and loses its weight slowly.
        stalls.note(MS(2), 3, MS(6), Some(MS(9)));
        assert_eq!(stalls.blocks(Some(MS(3))), 1);
        for at in 0..9 {
            stalls.note(MS(10 + at), 1, MS(1), Some(MS(3)));
        }
        assert_eq!(stalls.blocks(Some(MS(3))), 3);
        assert_eq!(stalls.summary().count, 11);
        assert_eq!(stalls.summary().total, MS(16));
        assert_eq!(stalls.summary().too_long, 0);
    }

    #[test]
    fn a_block_that_takes_too_long_stops_promotions_for_ever_longer() {
        let mut stalls = Stalls::default();
        let allowed = Some(MS(2));
        // Several blocks together took too long: one alone is tried next, at once.
        stalls.note(MS(0), 4, MS(3), allowed);
        assert!(!stalls.waits(MS(1)));
        assert_eq!(stalls.blocks(allowed), 1);
        stalls.note(MS(10), 1, MS(3), allowed);
        assert!(stalls.waits(MS(1009)) && !stalls.waits(MS(1010)));
        stalls.note(MS(1010), 1, MS(3), allowed);
        assert!(stalls.waits(MS(3009)) && !stalls.waits(MS(3010)));
        assert_eq!(stalls.summary().too_long, 3);
        stalls.note(MS(3010), 1, MS(1), allowed);
        stalls.note(MS(3020), 1, MS(3), allowed);
        assert!(!stalls.waits(MS(4020)), "the wait is a first one again");
    }

    #[test]
    fn a_call_that_made_nothing_says_nothing_of_a_block() {
        let mut stalls = Stalls::default();
        let allowed = Some(MS(5));
        let refuse = |stalls: &mut Stalls| {
            for at in 10..20 {
                stalls.note_in_vain(MS(at), 1, Duration::from_micros(5), allowed);
            }
        };
        stalls.note(MS(4), 1, MS(4), allowed);
        refuse(&mut stalls);
        assert_eq!(stalls.blocks(allowed), 1);
        stalls.note(MS(9), 1, MS(6), allowed);
        refuse(&mut stalls);
        assert!(stalls.waits(MS(1008)), "a refusal does not end the pause");
        assert_eq!(stalls.summary().count, 22);
        stalls.note_in_vain(MS(5000), 1, MS(6), allowed);
        assert!(
            stalls.waits(MS(5001)),
            "a failed call that takes too long starts one"
        );
    }

    #[test]
    fn quantiles_are_those_of_the_calls() {
        let mut stalls = Stalls::default();
        for micros in 1..=1000 {
            stalls.note(MS(0), 1, Duration::from_micros(micros), None);
        }
        let summary = stalls.summary();
        assert!(
            (980..=1000).contains(&summary.p99.as_micros()),
            "{summary:?}"
        );
        assert_eq!(summary.longest, MS(1));
    }
}
