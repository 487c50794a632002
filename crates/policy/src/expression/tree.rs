//! An expression as it is written, and how it is written again.

use super::names::kind_name;
use crate::BackingKind;
use crate::written::write_number;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use core::fmt;
use core::ops::Range;

/// A part of an expression, and where it stands. Parts are equal that are written alike, wherever they stand.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) what: What,
    pub(super) at: Range<usize>,
}

/// What a part says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum What {
    /// A literal without a unit. Never negative.
    Number(f64),
    /// So many hundredths of the block's pages.
    Percent(f64),
    /// Bytes, a multiple of 1024.
    Size(u64),
    /// A quantity or a flag, or a word that is neither.
    Name(String),
    /// Whether that kind of memory stands behind the block, or any other where not `equal`.
    Kind { kind: BackingKind, equal: bool },
    /// `-x`
    Negative(Box<Node>),
    /// `not x`
    Not(Box<Node>),
    /// Two parts with a sign or a word between them.
    Two(Operator, Box<[Node; 2]>),
}

/// What stands between two parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Compare(Comparison),
    Sum(Sum),
    Product(Product),
}

/// How two numbers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Less,
    AtMost,
    More,
    AtLeast,
    Equal,
    Differs,
}

/// What is calculated of two numbers of one unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sum {
    Plus,
    Minus,
}

/// What is calculated of two numbers of different units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Product {
    Times,
    Over,
}

/// How tightly parts hold together, from what holds least.
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
        Self::Compare(Comparison::Less),
        Self::Compare(Comparison::AtMost),
        Self::Compare(Comparison::More),
        Self::Compare(Comparison::AtLeast),
        Self::Compare(Comparison::Equal),
        Self::Compare(Comparison::Differs),
        Self::Sum(Sum::Plus),
        Self::Sum(Sum::Minus),
        Self::Product(Product::Times),
        Self::Product(Product::Over),
    ];

    pub(super) const fn written(self) -> &'static str {
        match self {
            Self::Or => "or",
            Self::And => "and",
            Self::Compare(Comparison::Less) => "<",
            Self::Compare(Comparison::AtMost) => "<=",
            Self::Compare(Comparison::More) => ">",
            Self::Compare(Comparison::AtLeast) => ">=",
            Self::Compare(Comparison::Equal) => "==",
            Self::Compare(Comparison::Differs) => "!=",
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

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.what == other.what
    }
}

impl Node {
    fn binds(&self) -> u8 {
        match &self.what {
            What::Two(operator, _) => operator.binds(),
            What::Not(_) => binds::NOT,
            What::Kind { .. } => binds::COMPARE,
            What::Negative(_) => binds::NEGATIVE,
            _ => binds::VALUE,
        }
    }

    /// Writes it where something stands that binds so tightly, with brackets where it would fall apart.
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

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(0, f)
    }
}

/// Writes a number that is not negative as it is read, the shortest way.
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
