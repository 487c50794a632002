//! The direction in which a value changes with the age of a reservation, for any state of the
//! block.

use super::names::Quantity;
use super::rule::RuleValue;
use super::tree::{ComparisonOperator, Product, Sum};

/// The sign of a value, and the sign of its change with age: -1, 0 or 1. `None` if it depends on
/// the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Trend {
    sign: Option<i8>,
    slope: Option<i8>,
}

/// Returns true if age can only end a comparison: a comparison that does not hold never begins to
/// hold.
pub(super) fn only_ceases(comparison: ComparisonOperator, values: &[RuleValue; 2]) -> bool {
    let difference = of(&values[0]).plus(of(&values[1]).negative());
    match comparison {
        ComparisonOperator::More | ComparisonOperator::AtLeast => {
            matches!(difference.slope, Some(-1 | 0))
        }
        ComparisonOperator::Less | ComparisonOperator::AtMost => {
            matches!(difference.slope, Some(0 | 1))
        }
        ComparisonOperator::Equal | ComparisonOperator::Differs => difference.slope == Some(0),
    }
}

fn of(value: &RuleValue) -> Trend {
    // No quantity is negative.
    let (sign, slope) = match value {
        RuleValue::Constant(number) if *number < 0.0 => (-1, 0),
        RuleValue::Constant(_) | RuleValue::Percent(_) => (1, 0),
        RuleValue::Of(Quantity::Age) => (1, 1),
        RuleValue::Of(_) => (1, 0),
        RuleValue::Negative(part) => return of(part).negative(),
        RuleValue::Sum(sum, parts) => {
            let [left, right] = [of(&parts[0]), of(&parts[1])];
            return match sum {
                Sum::Plus => left.plus(right),
                Sum::Minus => left.plus(right.negative()),
            };
        }
        RuleValue::Product(product, parts) => {
            let [left, right] = [of(&parts[0]), of(&parts[1])];
            // A quotient by an age has no value at age 0, and may have a value later.
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
