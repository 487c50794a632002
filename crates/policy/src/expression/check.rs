//! Checking an expression: units, and the values available at each question.

use super::deadline::{self, AgeDeadline};
use super::names::{Flag, Quantity};
use super::rule::{Condition, RuleValue};
use super::tree::{ComparisonOperator, ExpressionNode, Operator, Product, Sum, What};
use super::{ExpressionError, Unit};
use crate::Refusal;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

/// A checker of one text's expressions, which collects the names in them.
#[derive(Debug)]
pub(super) struct Checker<'a> {
    text: &'a str,
    /// The quantities in the expression, each once, with their first positions.
    pub(super) quantities: Vec<(Quantity, Range<usize>)>,
    /// The flags in the expression, each once.
    pub(super) flags: Vec<Flag>,
    /// The ages of a reservation at which comparisons begin to hold, with the positions of the
    /// comparisons.
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

    /// Checks a part that must be true or false. `negated` is true after an odd number of `not`.
    pub(super) fn truth(
        &mut self,
        node: &ExpressionNode,
        negated: bool,
    ) -> Result<Condition, ExpressionError> {
        match &node.what {
            What::Kind { kind, equal } => Ok(Condition::Kind {
                kind: *kind,
                equal: *equal,
            }),
            What::Not(part) => Ok(Condition::Not(Box::new(self.truth(part, !negated)?))),
            What::Two(Operator::And, _) => {
                let mut parts = Vec::new();
                self.flatten(node, Operator::And, negated, &mut parts)?;
                Ok(Condition::All(parts))
            }
            What::Two(Operator::Or, _) => {
                let mut parts = Vec::new();
                self.flatten(node, Operator::Or, negated, &mut parts)?;
                Ok(Condition::Any(parts))
            }
            What::Two(Operator::Compare(comparison), parts) => {
                self.compare(node, *comparison, parts, negated)
            }
            What::Name(word) if let Some(flag) = Flag::named(word) => {
                if !self.flags.contains(&flag) {
                    self.flags.push(flag);
                }
                Ok(Condition::Is(flag))
            }
            _ => {
                let (_, unit) = self.value(node)?;
                let message = alloc::format!(
                    "{} and is neither true nor false: compare it with a number",
                    says(node, unit)
                );
                self.error(&node.at, message)
            }
        }
    }

    /// Checks the operands of a chain of equal operators.
    fn flatten(
        &mut self,
        node: &ExpressionNode,
        operator: Operator,
        negated: bool,
        to: &mut Vec<Condition>,
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
        node: &ExpressionNode,
        comparison: ComparisonOperator,
        parts: &[ExpressionNode; 2],
        negated: bool,
    ) -> Result<Condition, ExpressionError> {
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
        if let [RuleValue::Constant(_), RuleValue::Constant(_)] = values {
            return self.error(
                &node.at,
                String::from("nothing on either side depends on the block"),
            );
        }
        match deadline::deadline(comparison, &values, negated) {
            AgeDeadline::None => {}
            AgeDeadline::At(age) => self.ages.push((age, node.at.clone())),
            AgeDeadline::Unknown => self.unsolved.extend(deadline::place(node)),
        }
        let reason = reason(comparison, &values);
        Ok(Condition::Compare(comparison, Box::new(values), reason))
    }

    /// Checks a part that must be a number, and returns its value and unit.
    pub(super) fn value(
        &mut self,
        node: &ExpressionNode,
    ) -> Result<(RuleValue, Unit), ExpressionError> {
        let (value, unit) = match &node.what {
            What::Number(number) => (RuleValue::Constant(*number), Unit::Any),
            What::Percent(percent) => (RuleValue::Percent(*percent), Unit::Pages),
            What::Size(bytes) => (RuleValue::Constant(*bytes as f64), Unit::Bytes),
            What::Name(word) if let Some(quantity) = Quantity::named(word) => {
                if !self.quantities.iter().any(|(known, _)| *known == quantity) {
                    self.quantities.push((quantity, node.at.clone()));
                }
                (RuleValue::Of(quantity), quantity.unit())
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
                (RuleValue::Constant(number), unit) => (RuleValue::Constant(-number), unit),
                (value, unit) => (RuleValue::Negative(Box::new(value)), unit),
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
            RuleValue::Constant(number) if !number.is_finite() => {
                self.error(&node.at, alloc::format!("`{node}` is too large a number"))
            }
            value => Ok((value, unit)),
        }
    }

    fn sum(
        &mut self,
        sum: Sum,
        parts: &[ExpressionNode; 2],
    ) -> Result<(RuleValue, Unit), ExpressionError> {
        let values = [self.value(&parts[0])?, self.value(&parts[1])?];
        let Some(unit) = values[0].1.with(values[1].1) else {
            let why = match sum {
                Sum::Plus => "they cannot be added",
                Sum::Minus => "one cannot be taken from the other",
            };
            return self.apart(parts, Operator::Sum(sum), why, &values);
        };
        Ok(match values.map(|(value, _)| value) {
            [RuleValue::Constant(left), RuleValue::Constant(right)] => {
                (RuleValue::Constant(sum.of(left, right)), unit)
            }
            values => (RuleValue::Sum(sum, Box::new(values)), unit),
        })
    }

    fn product(
        &mut self,
        product: Product,
        parts: &[ExpressionNode; 2],
    ) -> Result<(RuleValue, Unit), ExpressionError> {
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
            [_, RuleValue::Constant(0.0)] if product == Product::Over => {
                return self.error(
                    &parts[1].at,
                    String::from("a quotient by zero has no value"),
                );
            }
            [RuleValue::Constant(left), RuleValue::Constant(right)] => {
                (RuleValue::Constant(product.of(left, right)), unit)
            }
            values => (RuleValue::Product(product, Box::new(values)), unit),
        })
    }

    /// The error of two operands with mismatched units, at the operator.
    fn apart<T>(
        &self,
        parts: &[ExpressionNode; 2],
        operator: Operator,
        why: &str,
        values: &[(RuleValue, Unit); 2],
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

/// The unit of a part, in words.
fn says(node: &ExpressionNode, unit: Unit) -> String {
    match unit {
        Unit::Any | Unit::Number => alloc::format!("`{node}` is a plain number"),
        unit => alloc::format!("`{node}` counts {unit}"),
    }
}

/// The refusal of a block for which a comparison does not hold. Only a quantity that is one whole
/// side gives a specific reason.
fn reason(comparison: ComparisonOperator, values: &[RuleValue; 2]) -> Refusal {
    match (comparison, values) {
        // The populated pages never exceed the block's pages.
        (
            ComparisonOperator::Equal,
            [RuleValue::Of(quantity), RuleValue::Of(Quantity::Pages)]
            | [RuleValue::Of(Quantity::Pages), RuleValue::Of(quantity)],
        ) => quantity.refused_below(),
        (ComparisonOperator::More | ComparisonOperator::AtLeast, [RuleValue::Of(large), _]) => {
            large.refused_below()
        }
        (ComparisonOperator::More | ComparisonOperator::AtLeast, [_, RuleValue::Of(small)]) => {
            small.refused_above()
        }
        (ComparisonOperator::Less | ComparisonOperator::AtMost, [_, RuleValue::Of(large)]) => {
            large.refused_below()
        }
        (ComparisonOperator::Less | ComparisonOperator::AtMost, [RuleValue::Of(small), _]) => {
            small.refused_above()
        }
        _ => Refusal::Expression,
    }
}
