//! Explaining a checked expression in words.

use super::check::Checker;
use super::names::{Flag, Quantity, kind_name};
use super::tree::{ComparisonOperator, ExpressionNode, Operator, What};
use super::{Expression, Unit};
use crate::written::write_number;
use crate::{Point, Policy};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// A line of an explained expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionLine {
    /// The number of enclosing conditions.
    pub depth: usize,
    /// The condition, with units.
    pub text: String,
}

impl Expression {
    /// The conditions, one line for each comparison, with units.
    pub fn lines(&self) -> Vec<ExpressionLine> {
        let mut lines = Vec::new();
        let both = [
            ("promote", Some(&self.promote)),
            ("demote", self.demote.as_ref()),
        ];
        for (verb, node) in both {
            if let Some(node) = node {
                lines.push(ExpressionLine {
                    depth: 0,
                    text: alloc::format!("{verb} where"),
                });
                spread(node, 1, &mut lines);
            }
        }
        lines
    }

    /// The decision points of the policy, in words.
    pub fn asked(&self) -> String {
        let needs = self.needs();
        let mut times = Vec::new();
        for point in Point::ALL.iter().filter(|point| point.is_asked_of(&needs)) {
            times.push(match (point, needs.asked_at_age, needs.scan) {
                (Point::Fault, ..) => "at faults".to_string(),
                (Point::FirstStore, ..) => "at first stores to pages".to_string(),
                (Point::Due, Some(age), _) => {
                    alloc::format!("when a reservation is {} accesses old", write_number(age))
                }
                (Point::Scan, _, Some(scan)) => {
                    alloc::format!("of each block every {} accesses", write_number(scan.period))
                }
                (Point::Miss, ..) => "at TLB misses".to_string(),
                (Point::StoreToCleanSuperpage, ..) if self.demote.is_some() => {
                    "of a clean superpage before its first store".to_string()
                }
                (Point::Short, ..) => "of superpages when memory is short".to_string(),
                _ => continue,
            });
        }
        let times: Vec<&str> = times.iter().map(String::as_str).collect();
        crate::listed(&times, "and")
    }

    /// The quantities and flags of the expression, in order.
    pub fn speaks_of(&self) -> (Vec<Quantity>, Vec<Flag>) {
        let mut checker = Checker::new("");
        for node in [Some(&self.promote), self.demote.as_ref()]
            .into_iter()
            .flatten()
        {
            // The expression was valid when it was parsed.
            let _ = checker.truth(node, false);
        }
        (
            checker
                .quantities
                .into_iter()
                .map(|(quantity, _)| quantity)
                .collect(),
            checker.flags,
        )
    }
}

fn spread(node: &ExpressionNode, depth: usize, lines: &mut Vec<ExpressionLine>) {
    let text = match &node.what {
        What::Two(operator @ (Operator::And | Operator::Or), _) => {
            let all = *operator == Operator::And;
            let text = if all {
                "all of these hold:"
            } else {
                "one of these holds:"
            };
            lines.push(ExpressionLine {
                depth,
                text: text.to_string(),
            });
            return parts(node, *operator, depth + 1, lines);
        }
        What::Not(part) if !matches!(part.what, What::Name(_)) => {
            lines.push(ExpressionLine {
                depth,
                text: "this does not hold:".to_string(),
            });
            return spread(part, depth + 1, lines);
        }
        What::Kind { kind, equal } => {
            alloc::format!(
                "kind is {}{}",
                if *equal { "" } else { "not " },
                kind_name(*kind)
            )
        }
        What::Two(Operator::Compare(comparison), sides) => compared(*comparison, sides),
        _ => node.to_string(),
    };
    lines.push(ExpressionLine { depth, text });
}

/// Adds the operands of a chain of equal operators.
fn parts(node: &ExpressionNode, operator: Operator, depth: usize, lines: &mut Vec<ExpressionLine>) {
    match &node.what {
        What::Two(found, sides) if *found == operator => {
            for side in sides.iter() {
                parts(side, operator, depth, lines);
            }
        }
        _ => spread(node, depth, lines),
    }
}

fn compared(comparison: ComparisonOperator, sides: &[ExpressionNode; 2]) -> String {
    let how = match comparison {
        ComparisonOperator::Less => "less than",
        ComparisonOperator::AtMost => "at most",
        ComparisonOperator::More => "more than",
        ComparisonOperator::AtLeast => "at least",
        ComparisonOperator::Equal => "equal to",
        ComparisonOperator::Differs => "different from",
    };
    let mut checker = Checker::new("");
    let mut unit = |side: &ExpressionNode| checker.value(side).map_or(Unit::Any, |(_, unit)| unit);
    let unit = unit(&sides[0]).with(unit(&sides[1])).unwrap_or(Unit::Any);
    let (left, right) = (&sides[0], &sides[1]);
    match (unit, &right.what) {
        (_, What::Percent(_)) => alloc::format!("{left} is {how} {right} of the block's pages"),
        (Unit::Any | Unit::Number, _) => alloc::format!("{left} is {how} {right}"),
        (unit, What::Number(_) | What::Size(_)) => alloc::format!("{left} is {how} {right} {unit}"),
        (unit, _) => alloc::format!("{left} is {how} {right}, in {unit}"),
    }
}
