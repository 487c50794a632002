//! Rules: checked expressions that decide about a block.
//!
//! Numbers are 64-bit floating point. Integers up to 2^53 are exact, a trace has fewer accesses,
//! and no calculation wraps around. A quotient by zero has no value (NaN), and neither has a result
//! calculated from it. No comparison with such a result holds, not even `!=`.

use super::names::{Flag, Quantity};
use super::tree::{ComparisonOperator, Product, Sum};
use crate::{Refusal, View};
use alloc::boxed::Box;
use alloc::vec::Vec;
use broadleaf_units::BackingKind;
use core::cmp::Ordering;

/// A number with a valid unit.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RuleValue {
    Constant(f64),
    Of(Quantity),
    /// A percentage of the block's pages.
    Percent(f64),
    Negative(Box<RuleValue>),
    Sum(Sum, Box<[RuleValue; 2]>),
    Product(Product, Box<[RuleValue; 2]>),
}

/// A condition.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Condition {
    Is(Flag),
    Kind {
        kind: BackingKind,
        equal: bool,
    },
    /// A comparison, and the refusal if it does not hold.
    Compare(ComparisonOperator, Box<[RuleValue; 2]>, Refusal),
    Not(Box<Condition>),
    /// A condition that holds if all parts hold.
    All(Vec<Condition>),
    /// A condition that holds if at least one part holds.
    Any(Vec<Condition>),
}

impl Sum {
    pub(super) fn of(self, left: f64, right: f64) -> f64 {
        match self {
            Self::Plus => left + right,
            Self::Minus => left - right,
        }
    }
}

impl Product {
    pub(super) fn of(self, left: f64, right: f64) -> f64 {
        match self {
            Self::Times => left * right,
            Self::Over if right == 0.0 => f64::NAN,
            Self::Over => left / right,
        }
    }
}

impl ComparisonOperator {
    pub(super) fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Self::Less => left < right,
            Self::AtMost => left <= right,
            Self::More => left > right,
            Self::AtLeast => left >= right,
            Self::Equal => left == right,
            // The operator `!=` would hold for NaN.
            Self::Differs => left.partial_cmp(&right).is_some_and(Ordering::is_ne),
        }
    }
}

impl RuleValue {
    pub(super) fn of(&self, view: &View) -> f64 {
        match self {
            Self::Constant(number) => *number,
            Self::Of(quantity) => quantity.of(view),
            Self::Percent(percent) => f64::from(view.pages) * percent / 100.0,
            Self::Negative(value) => -value.of(view),
            Self::Sum(sum, values) => sum.of(values[0].of(view), values[1].of(view)),
            Self::Product(product, values) => product.of(values[0].of(view), values[1].of(view)),
        }
    }
}

impl Condition {
    /// Evaluates the condition for a block.
    ///
    /// # Errors
    /// Returns the refusal if the condition does not hold. For `and`, it is the refusal of the
    /// first part that does not hold. For `or`, it is the common refusal of all parts, or
    /// [`Refusal::Expression`] if they differ.
    pub(super) fn holds(&self, view: &View) -> Result<(), Refusal> {
        let (holds, otherwise) = match self {
            Self::Compare(comparison, values, reason) => (
                comparison.holds(values[0].of(view), values[1].of(view)),
                *reason,
            ),
            Self::Is(flag) => (flag.of(view), flag.refused(false)),
            Self::Kind { kind, equal } => (
                (view.backing == *kind) == *equal,
                refused_kind(view.backing),
            ),
            Self::Not(part) => match **part {
                Self::Is(flag) => (!flag.of(view), flag.refused(true)),
                _ => (part.holds(view).is_err(), Refusal::Expression),
            },
            Self::All(parts) => return parts.iter().try_for_each(|part| part.holds(view)),
            Self::Any(parts) => {
                let mut reason = None;
                for part in parts {
                    match (part.holds(view), reason) {
                        (Ok(()), _) => return Ok(()),
                        (Err(new), Some(known)) if new != known => {
                            reason = Some(Refusal::Expression)
                        }
                        (Err(new), _) => reason = Some(new),
                    }
                }
                return Err(reason.unwrap_or(Refusal::Expression));
            }
        };
        if holds { Ok(()) } else { Err(otherwise) }
    }
}

/// The refusal of a block with the wrong kind of backing.
const fn refused_kind(kind: BackingKind) -> Refusal {
    match kind {
        BackingKind::Anonymous => Refusal::Expression,
        BackingKind::File => Refusal::FileBacked,
        BackingKind::SharedMemory => Refusal::SharedMemory,
    }
}
