//! The direction in which a value changes with the age of a reservation, for any state of the
//! block.

use super::names::Quantity;
use super::rule::Value;
use super::tree::{Comparison, Product, Sum};

/// The sign of a value, and which way it goes with age: -1, 0 or 1. `None` where that depends on
/// the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Trend {
    sign: Option<i8>,
    slope: Option<i8>,
}

/// Returns true if age can only end a comparison: one that does not hold never begins to hold.
pub(super) fn only_ceases(comparison: Comparison, values: &[Value; 2]) -> bool {
    let difference = of(&values[0]).plus(of(&values[1]).negative());
    match comparison {
        Comparison::More | Comparison::AtLeast => matches!(difference.slope, Some(-1 | 0)),
        Comparison::Less | Comparison::AtMost => matches!(difference.slope, Some(0 | 1)),
        Comparison::Equal | Comparison::Differs => difference.slope == Some(0),
    }
}

fn of(value: &Value) -> Trend {
    // No quantity is negative.
    let (sign, slope) = match value {
        Value::Constant(number) if *number < 0.0 => (-1, 0),
        Value::Constant(_) | Value::Percent(_) => (1, 0),
        Value::Of(Quantity::Age) => (1, 1),
        Value::Of(_) => (1, 0),
        Value::Negative(part) => return of(part).negative(),
        Value::Sum(sum, parts) => {
            let [left, right] = [of(&parts[0]), of(&parts[1])];
            return match sum {
                Sum::Plus => left.plus(right),
                Sum::Minus => left.plus(right.negative()),
            };
        }
        Value::Product(product, parts) => {
            let [left, right] = [of(&parts[0]), of(&parts[1])];
            // A quotient by an age has no value at age 0, and may have one later.
            return match product {
                Product::Over if right.slope != Some(0) => Trend {
                    sign: None,
                    slope: None,
                },
                Product::Times | Product::Over => left.times(right),
            };
        }
    };
    Trend {
        sign: Some(sign),
        slope: Some(slope),
    }
}

impl Trend {
    fn negative(self) -> Self {
        let turned = |way: i8| -way;
        Self {
            sign: self.sign.map(turned),
            slope: self.slope.map(turned),
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            sign: (self.sign == other.sign).then_some(self.sign).flatten(),
            slope: together(self.slope, other.slope),
        }
    }

    fn times(self, other: Self) -> Self {
        Self {
            sign: product(self.sign, other.sign),
            slope: together(
                product(self.slope, other.sign),
                product(self.sign, other.slope),
            ),
        }
    }
}

fn product(one: Option<i8>, other: Option<i8>) -> Option<i8> {
    match (one, other) {
        (Some(0), _) | (_, Some(0)) => Some(0),
        (one, other) => Some(one? * other?),
    }
}

/// The slope of a sum.
fn together(one: Option<i8>, other: Option<i8>) -> Option<i8> {
    match (one?, other?) {
        (0, slope) | (slope, 0) => Some(slope),
        (one, other) if one == other => Some(one),
        _ => None,
    }
}
