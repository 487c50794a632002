//! The units of numbers, and the rules for combining them.

use core::fmt;

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// The unit of the other operand: for literals without a letter, and for results of literals.
    Any,
    /// A plain number: a number of misses or charges, or a ratio.
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
    /// The unit of a sum, of a difference, or of both sides of a comparison; `None` if the units do
    /// not match.
    pub(super) fn with(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Any, unit) | (unit, Self::Any) => Some(unit),
            (one, two) => (one == two).then_some(one),
        }
    }

    /// The unit of a product. A literal may be a number of cycles per miss, so its product with a
    /// plain number fits any unit.
    pub(super) fn times(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Any, Self::Any | Self::Number) | (Self::Number, Self::Any) => Some(Self::Any),
            (Self::Any | Self::Number, unit) | (unit, Self::Any | Self::Number) => Some(unit),
            _ => None,
        }
    }

    /// The unit of a quotient. The quotient of equal units is a plain number.
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
