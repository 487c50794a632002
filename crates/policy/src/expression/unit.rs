//! What numbers count, and which of them go together.

use core::fmt;

/// What one of a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Whatever it stands beside: a literal without a letter, and what is calculated of literals.
    Any,
    /// A plain number: of misses and charges, and a ratio.
    Number,
    /// Base pages.
    Pages,
    /// Bytes.
    Bytes,
    /// Accesses of the whole trace, the unit of time.
    Accesses,
    /// Cycles of the processor.
    Cycles,
}

impl Unit {
    /// The unit of a sum, a difference and of what can be compared; `None` where the two do not go together.
    pub(super) fn with(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Any, unit) | (unit, Self::Any) => Some(unit),
            (one, two) => (one == two).then_some(one),
        }
    }

    /// The unit of a product. A literal may stand for so many cycles a miss: times a plain number it is any unit again.
    pub(super) fn times(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Any, Self::Any | Self::Number) | (Self::Number, Self::Any) => Some(Self::Any),
            (Self::Any | Self::Number, unit) | (unit, Self::Any | Self::Number) => Some(unit),
            _ => None,
        }
    }

    /// The unit of a quotient. Of two of one unit it is a plain number.
    pub(super) fn over(self, other: Self) -> Option<Self> {
        match (self, other) {
            (unit, Self::Any | Self::Number) => Some(unit),
            (Self::Any, _) => Some(Self::Number),
            (one, two) => (one == two).then_some(Self::Number),
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Any => "any unit",
            Self::Number => "plain numbers",
            Self::Pages => "pages",
            Self::Bytes => "bytes",
            Self::Accesses => "accesses",
            Self::Cycles => "cycles",
        })
    }
}
