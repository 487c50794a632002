//! Whether an expression means something: units, and what may be asked where.

use super::deadline::{self, Deadline};
use super::names::{Flag, Quantity};
use super::rule::{Truth, Value};
use super::tree::{Comparison, Node, Operator, Product, Sum, What};
use super::{ExpressionError, Unit};
use crate::Refusal;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

/// Checks the expressions of one text, and notes what they speak of.
#[derive(Debug)]
pub(super) struct Checker<'a> {
    text: &'a str,
    /// What was spoken of, each once, and where first.
    pub(super) quantities: Vec<(Quantity, Range<usize>)>,
    /// What was spoken of, each once.
    pub(super) flags: Vec<Flag>,
    /// At which ages of a reservation a comparison begins to hold.
    pub(super) ages: Vec<(u64, Range<usize>)>,
    /// The positions of the reservation's age in comparisons that no single age decides.
    pub(super) unsolved: Vec<Range<usize>>,
}

impl<'a> Checker<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self {
            text,
            quantities: Vec::new(),
            flags: Vec::new(),
            ages: Vec::new(),
            unsolved: Vec::new(),
        }
    }

    fn error<T>(&self, at: &Range<usize>, message: String) -> Result<T, ExpressionError> {
        Err(ExpressionError::new(self.text, at.clone(), message))
    }

    /// What has to be true or false. `negated` says whether it stands behind an odd number of `not`.
    pub(super) fn truth(&mut self, node: &Node, negated: bool) -> Result<Truth, ExpressionError> {
        match &node.what {
            What::Kind { kind, equal } => Ok(Truth::Kind {
                kind: *kind,
                equal: *equal,
            }),
            What::Not(part) => Ok(Truth::Not(Box::new(self.truth(part, !negated)?))),
            What::Two(Operator::And, _) => {
                let mut parts = Vec::new();
                self.flatten(node, Operator::And, negated, &mut parts)?;
                Ok(Truth::All(parts))
            }
            What::Two(Operator::Or, _) => {
                let mut parts = Vec::new();
                self.flatten(node, Operator::Or, negated, &mut parts)?;
                Ok(Truth::Any(parts))
            }
            What::Two(Operator::Compare(comparison), parts) => {
                self.compare(node, *comparison, parts, negated)
            }
            What::Name(word) if let Some(flag) = Flag::named(word) => {
                if !self.flags.contains(&flag) {
                    self.flags.push(flag);
                }
                Ok(Truth::Is(flag))
            }
            _ => {
                let (_, unit) = self.value(node)?;
                let message = alloc::format!(
                    "{} and is neither true nor false: compare it with something",
                    says(node, unit)
                );
                self.error(&node.at, message)
            }
        }
    }

    /// The parts between operators that are all the same.
    fn flatten(
        &mut self,
        node: &Node,
        operator: Operator,
        negated: bool,
        to: &mut Vec<Truth>,
    ) -> Result<(), ExpressionError> {
        match &node.what {
            What::Two(found, parts) if *found == operator => {
                self.flatten(&parts[0], operator, negated, to)?;
                self.flatten(&parts[1], operator, negated, to)
            }
            _ => {
                to.push(self.truth(node, negated)?);
                Ok(())
            }
        }
    }

    fn compare(
        &mut self,
        node: &Node,
        comparison: Comparison,
        parts: &[Node; 2],
        negated: bool,
    ) -> Result<Truth, ExpressionError> {
        let values = [self.value(&parts[0])?, self.value(&parts[1])?];
        if values[0].1.with(values[1].1).is_none() {
            return self.apart(
                parts,
                Operator::Compare(comparison),
                "they cannot be compared",
                &values,
            );
        }
        let values = values.map(|(value, _)| value);
        if let [Value::Constant(_), Value::Constant(_)] = values {
            return self.error(
                &node.at,
                String::from("nothing on either side depends on the block"),
            );
        }
        match deadline::deadline(comparison, &values, negated) {
            Deadline::None => {}
            Deadline::At(age) => self.ages.push((age, node.at.clone())),
            Deadline::Unknown => self.unsolved.extend(deadline::place(node)),
        }
        let reason = reason(comparison, &values);
        Ok(Truth::Compare(comparison, Box::new(values), reason))
    }

    /// What has to be a number, and its unit.
    pub(super) fn value(&mut self, node: &Node) -> Result<(Value, Unit), ExpressionError> {
        let (value, unit) = match &node.what {
            What::Number(number) => (Value::Constant(*number), Unit::Any),
            What::Percent(percent) => (Value::Percent(*percent), Unit::Pages),
            What::Size(bytes) => (Value::Constant(*bytes as f64), Unit::Bytes),
            What::Name(word) if let Some(quantity) = Quantity::named(word) => {
                if !self.quantities.iter().any(|(known, _)| *known == quantity) {
                    self.quantities.push((quantity, node.at.clone()));
                }
                (Value::Of(quantity), quantity.unit())
            }
            What::Name(word) if Flag::named(word).is_none() => {
                let names = Quantity::ALL.iter().map(|known| known.name());
                let names: Vec<&str> = names
                    .chain([super::names::KIND])
                    .chain(Flag::ALL.iter().map(|known| known.name()))
                    .collect();
                return self.error(
                    &node.at,
                    alloc::format!(
                        "nothing is called `{word}` here: there are {}",
                        crate::listed(&names, "and")
                    ),
                );
            }
            What::Negative(part) => match self.value(part)? {
                (Value::Constant(number), unit) => (Value::Constant(-number), unit),
                (value, unit) => (Value::Negative(Box::new(value)), unit),
            },
            What::Two(Operator::Sum(sum), parts) => self.sum(*sum, parts)?,
            What::Two(Operator::Product(product), parts) => self.product(*product, parts)?,
            _ => {
                return self.error(
                    &node.at,
                    alloc::format!("`{node}` is true or false, and no number"),
                );
            }
        };
        match value {
            Value::Constant(number) if !number.is_finite() => {
                self.error(&node.at, alloc::format!("`{node}` is too large a number"))
            }
            value => Ok((value, unit)),
        }
    }

    fn sum(&mut self, sum: Sum, parts: &[Node; 2]) -> Result<(Value, Unit), ExpressionError> {
        let values = [self.value(&parts[0])?, self.value(&parts[1])?];
        let Some(unit) = values[0].1.with(values[1].1) else {
            let why = match sum {
                Sum::Plus => "they cannot be added",
                Sum::Minus => "one cannot be taken from the other",
            };
            return self.apart(parts, Operator::Sum(sum), why, &values);
        };
        Ok(match values.map(|(value, _)| value) {
            [Value::Constant(left), Value::Constant(right)] => {
                (Value::Constant(sum.of(left, right)), unit)
            }
            values => (Value::Sum(sum, Box::new(values)), unit),
        })
    }

    fn product(
        &mut self,
        product: Product,
        parts: &[Node; 2],
    ) -> Result<(Value, Unit), ExpressionError> {
        let values = [self.value(&parts[0])?, self.value(&parts[1])?];
        let (unit, what) = match product {
            Product::Times => (values[0].1.times(values[1].1), "product"),
            Product::Over => (values[0].1.over(values[1].1), "quotient"),
        };
        let Some(unit) = unit else {
            let why = alloc::format!("their {what} has no unit here");
            return self.apart(parts, Operator::Product(product), &why, &values);
        };
        Ok(match values.map(|(value, _)| value) {
            [_, Value::Constant(0.0)] if product == Product::Over => {
                return self.error(
                    &parts[1].at,
                    String::from("what is divided by zero has no value"),
                );
            }
            [Value::Constant(left), Value::Constant(right)] => {
                (Value::Constant(product.of(left, right)), unit)
            }
            values => (Value::Product(product, Box::new(values)), unit),
        })
    }

    /// That two numbers do not go together, below the sign between them.
    fn apart<T>(
        &self,
        parts: &[Node; 2],
        operator: Operator,
        why: &str,
        values: &[(Value, Unit); 2],
    ) -> Result<T, ExpressionError> {
        let [left, right] = parts;
        let between = self.text.get(left.at.end..right.at.start).unwrap_or("");
        let at = left.at.end + between.find(operator.written()).unwrap_or(0);
        let message = alloc::format!(
            "{} and {}: {why}",
            says(left, values[0].1),
            says(right, values[1].1)
        );
        self.error(&(at..at + operator.written().len()), message)
    }
}

/// What a part counts, in words.
fn says(node: &Node, unit: Unit) -> String {
    match unit {
        Unit::Any | Unit::Number => alloc::format!("`{node}` is a plain number"),
        unit => alloc::format!("`{node}` counts {unit}"),
    }
}

/// Why a block stays where this does not hold. A quantity has to stand alone on its side to be the reason.
fn reason(comparison: Comparison, values: &[Value; 2]) -> Refusal {
    match (comparison, values) {
        // Of the block's pages there are never more.
        (
            Comparison::Equal,
            [Value::Of(quantity), Value::Of(Quantity::Pages)]
            | [Value::Of(Quantity::Pages), Value::Of(quantity)],
        ) => quantity.refused_below(),
        (Comparison::More | Comparison::AtLeast, [Value::Of(large), _]) => large.refused_below(),
        (Comparison::More | Comparison::AtLeast, [_, Value::Of(small)]) => small.refused_above(),
        (Comparison::Less | Comparison::AtMost, [_, Value::Of(large)]) => large.refused_below(),
        (Comparison::Less | Comparison::AtMost, [Value::Of(small), _]) => small.refused_above(),
        _ => Refusal::Expression,
    }
}
