//! The budgets that a user sets.

use crate::seen::{Headroom, MachineSeen};
use crate::stalls::StallLimit;
use broadleaf_units::{lacks_unit, size};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The maximum amount of memory that superpages may add.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Allowance {
    /// A fixed number of bytes.
    Bytes(u64),
    /// A share of the memory that the processes hold without superpages, in hundredths of a
    /// percent.
    Share(u32),
    /// No limit.
    Unlimited,
}

impl Allowance {
    /// Returns the limit in bytes. `held` is the memory of the processes in bytes, without the
    /// bytes that superpages added.
    pub const fn bytes(self, held: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Share(hundredths) => (held as u128 * hundredths as u128 / 10_000) as u64,
            Self::Unlimited => u64::MAX,
        }
    }
}

/// The reason for which a text is not an [`Allowance`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAnAllowance {
    /// The text has neither form.
    #[error("\"{0}\" is neither a size nor a percentage; write it as 512M, 2G, 10% or unlimited")]
    Neither(String),
    /// The text is probably a percentage without its sign.
    #[error("{0} bytes hold no page; did you mean {0}%?")]
    NoUnit(String),
}

impl FromStr for Allowance {
    type Err = NotAnAllowance;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let no = || NotAnAllowance::Neither(text.to_owned());
        let trimmed = text.trim();
        if trimmed == "unlimited" {
            return Ok(Self::Unlimited);
        }
        if let Some(percent) = trimmed.strip_suffix('%') {
            let percent: f64 = percent.trim().parse().map_err(|_| no())?;
            if !(0.0..=51_100.0).contains(&percent) {
                return Err(no());
            }
            return Ok(Self::Share((percent * 100.0).round() as u32));
        }
        let bytes = size(trimmed).ok_or_else(no)?;
        if lacks_unit(trimmed, bytes) {
            return Err(NotAnAllowance::NoUnit(trimmed.to_owned()));
        }
        Ok(Self::Bytes(bytes))
    }
}

/// Reads a share written as `10%`. Returns hundredths of a percent. The share is more than 0 and at
/// most 100 percent.
///
/// # Errors
/// Returns a sentence that says what is wrong with the text.
pub fn percent(text: &str) -> Result<u32, String> {
    let number = text.trim().trim_end_matches('%').trim_end();
    let percent: f64 = number
        .parse()
        .map_err(|_| format!("\"{text}\" is no percentage; write it as 10%"))?;
    if percent > 0.0 && percent <= 100.0 {
        // A share below one hundredth of a percent would round to 0, which means no memory at all.
        Ok(((percent * 100.0).round() as u32).max(1))
    } else {
        Err("a percentage is more than 0 and at most 100".to_owned())
    }
}

impl fmt::Display for Allowance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => {
                let unit = [(40, "T"), (30, "G"), (20, "M"), (10, "K")];
                let fits = |shift: &u32| bytes % (1 << shift) == 0 && *bytes > 0;
                match unit.iter().find(|(shift, _)| fits(shift)) {
                    Some((shift, name)) => write!(f, "{}{name}", bytes >> shift),
                    None => write!(f, "{bytes}"),
                }
            }
            Self::Share(hundredths) => write!(f, "{}%", f64::from(*hundredths) / 100.0),
            Self::Unlimited => f.write_str("unlimited"),
        }
    }
}

/// The lack of memory on the machine or in a cgroup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shortage {
    /// The missing bytes.
    pub bytes: u64,
    /// True if processes wait for memory. The number of missing bytes is then unknown.
    pub is_waited_for: bool,
}

impl Shortage {
    /// Returns true if memory is short.
    pub const fn is_any(self) -> bool {
        self.bytes > 0 || self.is_waited_for
    }

    /// Returns the number of bytes to give back. The number may be more than can be given back.
    pub const fn wanted(self) -> u64 {
        if self.is_waited_for {
            u64::MAX
        } else {
            self.bytes
        }
    }
}

/// The budgets that a user sets for a governor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budgets {
    /// The memory that superpages may add to all processes together.
    pub added: Allowance,
    /// The bytes that must stay available on the machine. With fewer bytes, memory is short.
    pub keep_available: u64,
    /// Memory is short if processes wait for memory during this share of ten seconds, in hundredths
    /// of a percent.
    pub pressure: u32,
    /// The share of a processor that observation may take, in hundredths of a percent.
    pub cpu: u32,
    /// The share of the time in which promotions may run, in hundredths of a percent. The program
    /// may wait during a promotion.
    pub stall: u32,
    /// The longest time that one kernel call may take. The program may wait during the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_stall: Option<Duration>,
    /// The shortest time between two observations.
    pub interval: Duration,
}

impl Budgets {
    /// The defaults: 10% more memory, 0.5% of a processor, 80% of the time for promotions. The
    /// book's page on running programs gives the reasons.
    pub const DEFAULT: Self = Self {
        added: Allowance::Share(1000),
        keep_available: 256 << 20,
        pressure: 1000,
        cpu: 50,
        stall: StallLimit::DEFAULT.share,
        longest_stall: StallLimit::DEFAULT.longest,
        interval: Duration::from_millis(200),
    };

    /// Returns the lack of memory on the machine or in cgroups with this headroom.
    pub fn shortage(
        &self,
        machine: &MachineSeen,
        cgroups: impl Iterator<Item = Headroom>,
    ) -> Shortage {
        let machine_wide = self.keep_available.saturating_sub(machine.available_bytes);
        let of = |left: Headroom| (left.limit / 50).saturating_sub(left.bytes);
        let pressure = machine.pressure;
        Shortage {
            bytes: cgroups.map(of).fold(machine_wide, u64::max),
            is_waited_for: pressure.is_some_and(|pressure| pressure >= self.pressure),
        }
    }

    /// Returns the bytes that superpages may still add. `held` is the memory of all processes,
    /// `added` the part of `held` that superpages added. The limits of cgroups apply.
    pub fn left(
        &self,
        machine: &MachineSeen,
        cgroups: impl Iterator<Item = Headroom>,
        held: u64,
        added: u64,
    ) -> u64 {
        let allowed = self.added.bytes(held.saturating_sub(added));
        let available = machine.available_bytes.saturating_sub(self.keep_available);
        let of = |left: Headroom| left.bytes.saturating_sub(left.limit / 50);
        let chargeable = cgroups.map(of).fold(u64::MAX, u64::min);
        allowed.saturating_sub(added).min(available).min(chargeable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::iter::empty as none;

    #[test]
    fn what_is_written_is_what_is_printed() {
        for (text, allowance, printed) in [
            ("10%", Allowance::Share(1000), "10%"),
            ("0.5 %", Allowance::Share(50), "0.5%"),
            ("512M", Allowance::Bytes(512 << 20), "512M"),
            ("1.5G", Allowance::Bytes(3 << 29), "1536M"),
            ("2GiB", Allowance::Bytes(2 << 30), "2G"),
            ("0", Allowance::Bytes(0), "0"),
            ("4097", Allowance::Bytes(4097), "4097"),
            ("unlimited", Allowance::Unlimited, "unlimited"),
        ] {
            let read: Allowance = text.parse().unwrap();
            assert_eq!(read, allowance, "{text}");
            assert_eq!(read.to_string(), printed);
            assert_eq!(read.to_string().parse::<Allowance>().unwrap(), allowance);
        }
        for text in [
            "",
            "%",
            "-1",
            "-1%",
            "nan%",
            "1e400",
            "99999999T",
            "ten",
            "1X",
            "inf",
            // This would mean 5 bytes.
            "5",
        ] {
            assert!(text.parse::<Allowance>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_share_is_of_what_is_held_without_what_was_added() {
        let budgets = Budgets {
            keep_available: 100,
            ..Budgets::DEFAULT
        };
        let machine = MachineSeen {
            available_bytes: 1000,
            ..MachineSeen::default()
        };
        assert_eq!(budgets.left(&machine, none(), 1100, 0), 110);
        assert_eq!(budgets.left(&machine, none(), 1100, 100), 0);
        assert_eq!(budgets.left(&machine, none(), 1050, 50), 50);
        assert_eq!(budgets.left(&machine, none(), 1_000_000, 0), 900);
        let headroom = Some(Headroom {
            bytes: 70,
            limit: 2000,
        });
        assert_eq!(
            budgets.left(&machine, headroom.into_iter(), 1_000_000, 0),
            30
        );
    }

    #[test]
    fn memory_is_short_by_any_of_three() {
        let budgets = Budgets {
            keep_available: 100,
            ..Budgets::DEFAULT
        };
        let machine = |available_bytes, pressure| MachineSeen {
            available_bytes,
            free_blocks: 1,
            pressure,
        };
        let short = |available, pressure, cgroups: &[Headroom]| {
            let machine = machine(available, pressure);
            budgets.shortage(&machine, cgroups.iter().copied())
        };
        let bytes = |bytes| Shortage {
            bytes,
            is_waited_for: false,
        };
        assert!(!short(100, Some(999), &[]).is_any());
        assert_eq!(short(60, None, &[]), bytes(40));
        let waited = short(100, Some(1000), &[]);
        assert!(waited.is_any() && waited.is_waited_for && waited.wanted() == u64::MAX);
        // The cgroup with the fewest bytes left need not be the one that lacks the most.
        let left = |bytes, limit| Headroom { bytes, limit };
        let cgroups = [left(10, 64), left(1000, 100_000), left(30, 2000)];
        assert_eq!(short(100, None, &cgroups), bytes(1000));
    }
}
