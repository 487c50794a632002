//! A checked expression, and whether it holds.
//!
//! Numbers are 64-bit floating point: whole numbers up to 2^53, which is more accesses than a trace has, are exact, and nothing wraps around. What is divided by zero has no
//! value (a NaN), nor has what is calculated of it, and no comparison holds of it: `!=` does not either.

use super::names::{Flag, Quantity};
use super::tree::{Comparison, Product, Sum};
use crate::{BackingKind, Refusal, View};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cmp::Ordering;

/// A number whose unit is right.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Constant(f64),
    Of(Quantity),
    /// So many hundredths of the block's pages.
    Percent(f64),
    Negative(Box<Value>),
    Sum(Sum, Box<[Value; 2]>),
    Product(Product, Box<[Value; 2]>),
}

/// Something that is true or false.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Truth {
    Is(Flag),
    Kind {
        kind: BackingKind,
        equal: bool,
    },
    /// Where it does not hold, the block stays for this reason.
    Compare(Comparison, Box<[Value; 2]>, Refusal),
    Not(Box<Truth>),
    /// Every one of them.
    All(Vec<Truth>),
    /// One of them at least.
    Any(Vec<Truth>),
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

impl Comparison {
    pub(super) fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Self::Less => left < right,
            Self::AtMost => left <= right,
            Self::More => left > right,
            Self::AtLeast => left >= right,
            Self::Equal => left == right,
            // Not `!=`, which holds where one of them has no value.
            Self::Differs => left.partial_cmp(&right).is_some_and(Ordering::is_ne),
        }
    }
}

impl Value {
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

impl Truth {
    /// Whether it holds of a block.
    ///
    /// # Errors
    /// Where it does not: why. Of parts that all have to hold, the first that does not says so; of parts of which one has to, all of them if
    /// they agree. Otherwise it is [`Refusal::Expression`].
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

/// Why a block stays that has this kind of memory behind it, and should not.
const fn refused_kind(kind: BackingKind) -> Refusal {
    match kind {
        BackingKind::Anonymous => Refusal::Expression,
        BackingKind::File => Refusal::FileBacked,
        BackingKind::SharedMemory => Refusal::SharedMemory,
    }
}
