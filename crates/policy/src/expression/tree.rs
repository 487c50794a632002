//! The syntax tree of an expression, and its normal form.

use super::names::kind_name;
use crate::written::write_number;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use broadleaf_units::BackingKind;
use core::fmt;
use core::ops::Range;

/// A part of an expression with its position. Equality ignores positions.
#[derive(Clone, Debug)]
pub(super) struct ExpressionNode {
    pub(super) what: What,
    pub(super) at: Range<usize>,
}

/// The content of a part.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum What {
    /// A nonnegative literal without a unit.
    Number(f64),
    /// A percentage of the block's pages.
    Percent(f64),
    /// A number of bytes, a multiple of 1024.
    Size(u64),
    /// A quantity or a flag, or an unknown word.
    Name(String),
    /// A comparison of the block's backing with a kind: `==`, or `!=` if not `equal`.
    Kind { kind: BackingKind, equal: bool },
    /// `-x`
    Negative(Box<ExpressionNode>),
    /// `not x`
    Not(Box<ExpressionNode>),
    /// Two parts with an operator.
    Two(Operator, Box<[ExpressionNode; 2]>),
}

/// A binary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Compare(ComparisonOperator),
    Sum(Sum),
    Product(Product),
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ComparisonOperator {
    Less,
    AtMost,
    More,
    AtLeast,
    Equal,
    Differs,
}

/// An operation on two numbers of one unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sum {
    Plus,
    Minus,
}

/// An operation on two numbers of any units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Product {
    Times,
    Over,
}

/// Operator precedences, lowest first.
pub(super) mod binds {
    pub(in super::super) const OR: u8 = 1;
    pub(in super::super) const AND: u8 = 2;
    pub(in super::super) const NOT: u8 = 3;
    pub(in super::super) const COMPARE: u8 = 4;
    pub(in super::super) const SUM: u8 = 5;
    pub(in super::super) const PRODUCT: u8 = 6;
    pub(in super::super) const NEGATIVE: u8 = 7;
    pub(in super::super) const VALUE: u8 = 8;
}

impl Operator {
    /// Every operator.
    pub(super) const ALL: [Self; 12] = [
        Self::Or,
        Self::And,
        Self::Compare(ComparisonOperator::Less),
        Self::Compare(ComparisonOperator::AtMost),
        Self::Compare(ComparisonOperator::More),
        Self::Compare(ComparisonOperator::AtLeast),
        Self::Compare(ComparisonOperator::Equal),
        Self::Compare(ComparisonOperator::Differs),
        Self::Sum(Sum::Plus),
        Self::Sum(Sum::Minus),
        Self::Product(Product::Times),
        Self::Product(Product::Over),
    ];

    pub(super) const fn written(self) -> &'static str {
        match self {
            Self::Or => "or",
            Self::And => "and",
            Self::Compare(ComparisonOperator::Less) => "<",
            Self::Compare(ComparisonOperator::AtMost) => "<=",
            Self::Compare(ComparisonOperator::More) => ">",
            Self::Compare(ComparisonOperator::AtLeast) => ">=",
            Self::Compare(ComparisonOperator::Equal) => "==",
            Self::Compare(ComparisonOperator::Differs) => "!=",
            Self::Sum(Sum::Plus) => "+",
            Self::Sum(Sum::Minus) => "-",
            Self::Product(Product::Times) => "*",
            Self::Product(Product::Over) => "/",
        }
    }

    pub(super) const fn binds(self) -> u8 {
        match self {
            Self::Or => binds::OR,
            Self::And => binds::AND,
            Self::Compare(_) => binds::COMPARE,
            Self::Sum(_) => binds::SUM,
            Self::Product(_) => binds::PRODUCT,
        }
    }
}

impl PartialEq for ExpressionNode {
    fn eq(&self, other: &Self) -> bool {
        self.what == other.what
    }
}

impl ExpressionNode {
    fn binds(&self) -> u8 {
        match &self.what {
            What::Two(operator, _) => operator.binds(),
            What::Not(_) => binds::NOT,
            What::Kind { .. } => binds::COMPARE,
            What::Negative(_) => binds::NEGATIVE,
            _ => binds::VALUE,
        }
    }

    /// Writes the part as an operand of an operator with precedence `least`, with brackets if
    /// needed.
    fn write(&self, least: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.binds() < least {
            return write!(f, "({self})");
        }
        match &self.what {
            What::Number(number) => f.write_str(&write_decimal(*number)),
            What::Percent(percent) => write!(f, "{}%", write_decimal(*percent)),
            What::Size(bytes) => f.write_str(&write_size(*bytes)),
            What::Name(name) => f.write_str(name),
            What::Kind { kind, equal } => {
                write!(
                    f,
                    "kind {} {}",
                    if *equal { "==" } else { "!=" },
                    kind_name(*kind)
                )
            }
            What::Negative(part) => {
                f.write_str("-")?;
                part.write(binds::NEGATIVE, f)
            }
            What::Not(part) => {
                f.write_str("not ")?;
                part.write(binds::NOT, f)
            }
            What::Two(operator, parts) => {
                // A comparison of comparisons needs brackets on both sides.
                let binds = operator.binds();
                parts[0].write(binds + u8::from(binds == binds::COMPARE), f)?;
                write!(f, " {} ", operator.written())?;
                parts[1].write(binds + 1, f)
            }
        }
    }
}

impl fmt::Display for ExpressionNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(0, f)
    }
}

/// Writes a nonnegative number in the shortest form that reads back equal.
pub(super) fn write_decimal(number: f64) -> String {
    let whole = number as u64;
    if whole as f64 == number {
        write_number(whole)
    } else if number < 1e-4 {
        alloc::format!("{number:e}")
    } else {
        number.to_string()
    }
}

/// Writes a multiple of 1024 bytes.
fn write_size(bytes: u64) -> String {
    let units = [(30, "g"), (20, "m"), (10, "k")];
    let fits = |(shift, _): &(u32, &str)| bytes != 0 && bytes.trailing_zeros() >= *shift;
    let (shift, letter) = units.into_iter().find(fits).unwrap_or((10, "k"));
    alloc::format!("{}{letter}", bytes >> shift)
}
