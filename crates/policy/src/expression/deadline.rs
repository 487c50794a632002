//! The age at which an expression begins to hold.

use super::names::Quantity;
use super::rule::RuleValue;
use super::tokens::MOST;
use super::tree::{ComparisonOperator, ExpressionNode, Product, What};
use super::trend::only_ceases;
use crate::View;
use core::ops::Range;

/// The age at which a comparison requires the policy to be asked about a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AgeDeadline {
    /// Nothing: it does not mention the age, or it holds from the start or never.
    None,
    /// The first age, in accesses, at which the comparison holds and before which it did not.
    At(u64),
    /// The comparison begins to hold at an age that depends on the block.
    Unknown,
}

/// Returns the deadline of a comparison. With `negated`, the deadline is the first age at which the
/// comparison does not hold.
pub(super) fn deadline(
    comparison: ComparisonOperator,
    values: &[RuleValue; 2],
    negated: bool,
) -> AgeDeadline {
    let comparison = if negated {
        comparison.opposite()
    } else {
        comparison
    };
    match [form(&values[0]), form(&values[1])] {
        [
            AgeDependence::Constant | AgeDependence::Other,
            AgeDependence::Constant | AgeDependence::Other,
        ] => return AgeDeadline::None,
        [
            AgeDependence::Constant | AgeDependence::Linear,
            AgeDependence::Constant | AgeDependence::Linear,
        ] => {}
        // Age alone never makes the comparison hold; other changes ask the policy anyway.
        _ if only_ceases(comparison, values) => return AgeDeadline::None,
        _ => return AgeDeadline::Unknown,
    }
    let age = match comparison {
        ComparisonOperator::Equal => equality(values),
        ComparisonOperator::Differs => equality(values).map(|age| age + 1),
        ordered => first(ordered, values),
    };
    match age {
        Some(age @ 1..) => AgeDeadline::At(age),
        Some(0) | None => AgeDeadline::None,
    }
}

/// The position of the first mention of the age in an expression.
pub(super) fn place(node: &ExpressionNode) -> Option<Range<usize>> {
    match &node.what {
        What::Name(word) if Quantity::named(word) == Some(Quantity::Age) => Some(node.at.clone()),
        What::Negative(part) | What::Not(part) => place(part),
        What::Two(_, parts) => place(&parts[0]).or_else(|| place(&parts[1])),
        _ => None,
    }
}

/// The dependence of a value on the age of a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AgeDependence {
    /// The value is constant.
    Constant,
    /// The value depends on the block, and not on the age.
    Other,
    /// The value is a linear function of the age alone.
    Linear,
    /// The value depends on the age in another way.
    Mixed,
}

fn form(value: &RuleValue) -> AgeDependence {
    match value {
        RuleValue::Constant(_) => AgeDependence::Constant,
        RuleValue::Of(Quantity::Age) => AgeDependence::Linear,
        RuleValue::Of(_) | RuleValue::Percent(_) => AgeDependence::Other,
        RuleValue::Negative(part) => form(part),
        RuleValue::Sum(_, parts) => match [form(&parts[0]), form(&parts[1])] {
            [AgeDependence::Constant, other] | [other, AgeDependence::Constant] => other,
            [left, right] if left == right => left,
            _ => AgeDependence::Mixed,
        },
        RuleValue::Product(product, parts) => match [form(&parts[0]), form(&parts[1])] {
            [other, AgeDependence::Constant] => other,
            [
                AgeDependence::Constant | AgeDependence::Other,
                AgeDependence::Other,
            ] => AgeDependence::Other,
            [AgeDependence::Constant, other] if *product == Product::Times => other,
            _ => AgeDependence::Mixed,
        },
    }
}

/// Returns true if a comparison of linear functions of the age holds at an age.
fn holds(comparison: ComparisonOperator, values: &[RuleValue; 2], age: u64) -> bool {
    let view = View {
        reservation_age: Some(age),
        ..View::BLANK
    };
    comparison.holds(values[0].of(&view), values[1].of(&view))
}

/// The first age at which a comparison by order holds, if it does not hold from the start. Both
/// sides are linear, so the comparison changes at most once. Bisection finds the age.
fn first(comparison: ComparisonOperator, values: &[RuleValue; 2]) -> Option<u64> {
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
fn equality(values: &[RuleValue; 2]) -> Option<u64> {
    if holds(ComparisonOperator::Equal, values, 0) {
        return Some(0);
    }
    let comparison = if holds(ComparisonOperator::Less, values, 0) {
        ComparisonOperator::AtLeast
    } else {
        ComparisonOperator::AtMost
    };
    first(comparison, values).filter(|age| holds(ComparisonOperator::Equal, values, *age))
}

impl ComparisonOperator {
    /// The comparison that holds if and only if this comparison does not.
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
