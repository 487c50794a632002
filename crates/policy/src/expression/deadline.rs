//! When an expression begins to hold because time has passed.

use super::names::Quantity;
use super::rule::Value;
use super::tokens::MOST;
use super::tree::{Comparison, Node, Product, What};
use super::trend::only_ceases;
use crate::View;
use core::ops::Range;

/// The age at which a comparison requires the policy to be asked about a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deadline {
    /// Nothing: it does not mention the age, or it holds from the start or never.
    None,
    /// The first age, in accesses, at which the comparison holds and before which it did not.
    At(u64),
    /// The comparison begins to hold at an age that depends on the block.
    Unknown,
}

/// The deadline of a comparison; behind `not`, the first age at which it does not hold.
pub(super) fn deadline(comparison: Comparison, values: &[Value; 2], negated: bool) -> Deadline {
    let comparison = if negated {
        comparison.opposite()
    } else {
        comparison
    };
    match [form(&values[0]), form(&values[1])] {
        [Form::Constant | Form::Other, Form::Constant | Form::Other] => return Deadline::None,
        [Form::Constant | Form::Linear, Form::Constant | Form::Linear] => {}
        // Time alone never makes it hold, and the policy is asked when something else does.
        _ if only_ceases(comparison, values) => return Deadline::None,
        _ => return Deadline::Unknown,
    }
    let age = match comparison {
        Comparison::Equal => equality(values),
        Comparison::Differs => equality(values).map(|age| age + 1),
        ordered => first(ordered, values),
    };
    match age {
        Some(age @ 1..) => Deadline::At(age),
        Some(0) | None => Deadline::None,
    }
}

/// The position of the first mention of the age in an expression.
pub(super) fn place(node: &Node) -> Option<Range<usize>> {
    match &node.what {
        What::Name(word) if Quantity::named(word) == Some(Quantity::Age) => Some(node.at.clone()),
        What::Negative(part) | What::Not(part) => place(part),
        What::Two(_, parts) => place(&parts[0]).or_else(|| place(&parts[1])),
        _ => None,
    }
}

/// The dependence of a value on the age of a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The value is constant.
    Constant,
    /// The value depends on the block, and not on the age.
    Other,
    /// The value is a linear function of the age alone.
    Linear,
    /// The value depends on the age in another way.
    Mixed,
}

fn form(value: &Value) -> Form {
    match value {
        Value::Constant(_) => Form::Constant,
        Value::Of(Quantity::Age) => Form::Linear,
        Value::Of(_) | Value::Percent(_) => Form::Other,
        Value::Negative(part) => form(part),
        Value::Sum(_, parts) => match [form(&parts[0]), form(&parts[1])] {
            [Form::Constant, other] | [other, Form::Constant] => other,
            [left, right] if left == right => left,
            _ => Form::Mixed,
        },
        Value::Product(product, parts) => match [form(&parts[0]), form(&parts[1])] {
            [other, Form::Constant] => other,
            [Form::Constant | Form::Other, Form::Other] => Form::Other,
            [Form::Constant, other] if *product == Product::Times => other,
            _ => Form::Mixed,
        },
    }
}

/// Returns true if a comparison of linear functions of the age holds at an age.
fn holds(comparison: Comparison, values: &[Value; 2], age: u64) -> bool {
    let view = View {
        reservation_age: Some(age),
        ..View::BLANK
    };
    comparison.holds(values[0].of(&view), values[1].of(&view))
}

/// The first age at which a comparison by order holds, if it does not hold from the start. Both
/// sides are linear, so the comparison changes at most once. Bisection finds the age.
fn first(comparison: Comparison, values: &[Value; 2]) -> Option<u64> {
    let (mut not_yet, mut already) = (0, MOST as u64);
    if holds(comparison, values, not_yet) || !holds(comparison, values, already) {
        return None;
    }
    while already - not_yet > 1 {
        let middle = not_yet + (already - not_yet) / 2;
        if holds(comparison, values, middle) {
            already = middle;
        } else {
            not_yet = middle;
        }
    }
    Some(already)
}

/// The first age at which both sides are equal.
fn equality(values: &[Value; 2]) -> Option<u64> {
    if holds(Comparison::Equal, values, 0) {
        return Some(0);
    }
    let comparison = if holds(Comparison::Less, values, 0) {
        Comparison::AtLeast
    } else {
        Comparison::AtMost
    };
    first(comparison, values).filter(|age| holds(Comparison::Equal, values, *age))
}

impl Comparison {
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
