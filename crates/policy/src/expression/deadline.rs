//! When an expression begins to hold because time has passed.

use super::names::Quantity;
use super::rule::Value;
use super::tokens::MOST;
use super::tree::Comparison;

/// The first age, in accesses, of which a comparison holds and of which it did not before; behind `not`, the first of which it does not hold. `None` where age is not compared
/// with a constant, or where it holds from the start.
pub(super) fn age(comparison: Comparison, values: &[Value; 2], negated: bool) -> Option<u64> {
    let (comparison, limit) = match values {
        [Value::Of(Quantity::Age), Value::Constant(limit)] => (comparison, *limit),
        [Value::Constant(limit), Value::Of(Quantity::Age)] => (comparison.turned(), *limit),
        _ => return None,
    };
    let comparison = if negated {
        comparison.opposite()
    } else {
        comparison
    };
    if !(0.0..=MOST).contains(&limit) {
        return None;
    }
    // Rounds down, and is exact for whole numbers.
    let whole = limit as u64;
    let is_whole = whole as f64 == limit;
    let age = match comparison {
        Comparison::AtLeast | Comparison::Equal if is_whole => whole,
        Comparison::AtLeast | Comparison::More => whole + 1,
        Comparison::Differs if is_whole => whole + 1,
        _ => return None,
    };
    (age > 0).then_some(age)
}

impl Comparison {
    /// With its sides exchanged.
    const fn turned(self) -> Self {
        match self {
            Self::Less => Self::More,
            Self::AtMost => Self::AtLeast,
            Self::More => Self::Less,
            Self::AtLeast => Self::AtMost,
            same => same,
        }
    }

    /// What holds of ages of which this one does not.
    const fn opposite(self) -> Self {
        match self {
            Self::Less => Self::AtLeast,
            Self::AtMost => Self::More,
            Self::More => Self::AtMost,
            Self::AtLeast => Self::Less,
            Self::Equal => Self::Differs,
            Self::Differs => Self::Equal,
        }
    }
}
