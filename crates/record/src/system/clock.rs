//! The clock of a guest.

/// The line of a guest's file of symbols that says that its first program divides the clock.
const DIVIDES: &str = "clock-divider 4";

/// The way in which a guest's clock runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GuestClock {
    /// In real time.
    Real,
    /// A nanosecond for each instruction, the shortest time that QEMU has.
    Nanosecond,
    /// A quarter of a nanosecond for each instruction. The kernel is told that its time-stamp
    /// counter, which counts QEMU's nanoseconds, has 4 GHz. The guest's first program makes the
    /// timers of the processors four times as slow (`workloads/guest/supervise.c`).
    Quarter,
}

impl GuestClock {
    /// The clock of a guest with this file of symbols. It is real unless it can follow
    /// instructions.
    pub(super) fn of(symbols: &str, counts_instructions: bool) -> Self {
        match counts_instructions {
            false => Self::Real,
            true if symbols.lines().any(|line| line == DIVIDES) => Self::Quarter,
            true => Self::Nanosecond,
        }
    }

    /// The clock in words, for the notes of a trace.
    pub(super) const fn in_words(self) -> &'static str {
        match self {
            Self::Real => "the guest's clock was real, so the guest seemed slow to itself",
            Self::Nanosecond => {
                "the guest's clock follows its instructions: one nanosecond for each"
            }
            Self::Quarter => {
                "the guest's clock follows its instructions: a quarter of a nanosecond for each"
            }
        }
    }

    /// QEMU's options.
    pub(super) const fn options(self) -> &'static [&'static str] {
        match self {
            Self::Real => &[],
            Self::Nanosecond | Self::Quarter => &["-icount", "shift=0,sleep=off"],
        }
    }

    /// The words for the kernel's command line, after a space. The kernel passes the last one,
    /// which it does not know, to its first program's environment.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Real | Self::Nanosecond => "",
            Self::Quarter => " tsc_early_khz=4000000 iomem=relaxed BROADLEAF_CLOCK=4",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_that_divides_its_clock_has_a_quarter_of_a_nanosecond() {
        let symbols = "kernel 6.1.0\nphys_base 0x1\n";
        let divides = format!("{symbols}{DIVIDES}\n");
        assert_eq!(GuestClock::of(symbols, true), GuestClock::Nanosecond);
        assert_eq!(GuestClock::of(&divides, true), GuestClock::Quarter);
        assert_eq!(GuestClock::of(&divides, false), GuestClock::Real);
        // A kernel with a divided clock would have late timers by a clock that is real.
        assert_eq!(GuestClock::Real.words(), "");
        assert!(GuestClock::Real.options().is_empty());
    }
}
