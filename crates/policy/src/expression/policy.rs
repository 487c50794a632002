//! An expression as a policy.

use super::check::Checker;
use super::grammar::Parser;
use super::names::{Flag, Quantity};
use super::options::options;
use super::rule::Condition;
use super::tokens::{Lexeme, tokens};
use super::tree::ExpressionNode;
use super::{ExpressionError, FORM};
use crate::parameter::GivenParameters;
use crate::{
    Beyond, Charges, Copies, Needs, Placement, Point, Policy, PromotionOrder, Scan, Verdict, View,
};
use alloc::string::{String, ToString};
use broadleaf_units::SizeSet;
use core::ops::Range;

/// A policy written by its user: `promote if EXPRESSION; demote if EXPRESSION`.
#[derive(Clone, Debug)]
pub struct Expression {
    name: String,
    pub(super) promote: ExpressionNode,
    pub(super) demote: Option<ExpressionNode>,
    promoted: Condition,
    demoted: Option<Condition>,
    needs: Needs,
    /// True if a block without a reservation may become a superpage.
    anywhere: bool,
    asked: [bool; Point::ALL.len()],
}

impl Expression {
    /// Returns true if a text claims to be an expression: its first word is `promote`.
    pub fn is_meant_by(text: &str) -> bool {
        let rest = text.trim_start().strip_prefix(FORM.name);
        rest.is_some_and(|rest| {
            !rest.starts_with(|letter: char| {
                letter.is_alphanumeric() || ['_', '-'].contains(&letter)
            })
        })
    }

    /// Parses and checks an expression.
    ///
    /// ```
    /// use broadleaf_policy::{Expression, Policy};
    /// let policy = Expression::parse("promote if (populated>=64)").unwrap();
    /// assert_eq!(policy.name(), "promote if populated >= 64");
    /// let error = Expression::parse("promote if populated + age > 64").unwrap_err();
    /// assert_eq!(error.column(), 22);
    /// ```
    ///
    /// # Errors
    /// Returns an error with its position if the text violates the grammar, if units do not match,
    /// or if a value is unknown at the question.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let (given, from) = options(text)?;
        let tokens = tokens(text, from)?;
        let mut parser = Parser::new(text, &tokens);
        parser.expect(Lexeme::Word("if"), "`if`")?;
        let promote = parser.expression()?;
        let mut demote = None;
        if parser.take(Lexeme::Sign(";")) {
            parser.expect(Lexeme::Word("demote"), "`demote`")?;
            parser.expect(Lexeme::Word("if"), "`if`")?;
            demote = Some(parser.expression()?);
        }
        parser.expect(Lexeme::End, "`and`, `or` or the end")?;
        Self::checked(text, &given, promote, demote)
    }

    fn checked(
        text: &str,
        given: &GivenParameters,
        promote: ExpressionNode,
        demote: Option<ExpressionNode>,
    ) -> Result<Self, ExpressionError> {
        let mut of_promotion = Checker::new(text);
        let promoted = of_promotion.truth(&promote, false)?;
        let mut of_demotion = Checker::new(text);
        let demoted = (demote.as_ref())
            .map(|node| of_demotion.truth(node, false))
            .transpose()?;
        let needs = needs(text, given, &of_promotion, &of_demotion)?;
        let mut asked = [false; Point::ALL.len()];
        for point in Point::ALL {
            asked[*point as usize] = point.is_asked_of(&needs);
        }
        let mut name = alloc::format!("{} if {promote}", given.name());
        if let Some(demote) = &demote {
            name.push_str("; demote if ");
            name.push_str(&demote.to_string());
        }
        Ok(Self {
            name,
            promote,
            demote,
            promoted,
            demoted,
            needs,
            anywhere: needs.copies != Copies::Never,
            asked,
        })
    }
}

/// Returns the requirements on a host. The host must fill in all values of the expression, and must
/// ask when a value may have changed.
fn needs(
    text: &str,
    given: &GivenParameters,
    promotion: &Checker<'_>,
    demotion: &Checker<'_>,
) -> Result<Needs, ExpressionError> {
    let any_frame = given.word("frames") == "any";
    let period = given.number("scan");
    let refused = |at: &Range<usize>, why: &str| Err(ExpressionError::new(text, at.clone(), why));
    for (quantity, at) in &promotion.quantities {
        match quantity {
            Quantity::Referenced if period == 0 => {
                return refused(
                    at,
                    "`referenced` is counted between the rounds of a daemon: give the accesses \
                     between rounds, as in promote(scan=1e9)",
                );
            }
            Quantity::Age if any_frame => {
                return refused(
                    at,
                    "`age` is the age of a reservation, and there are no reservations with \
                     frames=any",
                );
            }
            _ => {}
        }
    }
    for (quantity, at) in &demotion.quantities {
        if charges(*quantity).any() {
            return refused(
                at,
                "misses are charged to base pages, and only superpages are demoted",
            );
        }
    }
    if let Some(at) = promotion.unsolved.first() {
        return refused(
            at,
            "`age` can be compared with constants only, because a reservation is asked about when \
             it reaches one age: write `age >= 1e6 and ...`",
        );
    }
    let mut ages = promotion.ages.iter();
    let age = ages.next().map(|(age, _)| *age);
    if let (Some(age), Some((_, at))) = (age, ages.find(|(other, _)| Some(*other) != age)) {
        let why = alloc::format!(
            "a reservation is asked about at one age, and it is asked about at {age} accesses \
             already"
        );
        return Err(ExpressionError::new(text, at.clone(), why));
    }
    let of_both = || {
        promotion
            .quantities
            .iter()
            .chain(&demotion.quantities)
            .map(|(quantity, _)| *quantity)
    };
    let flags = || promotion.flags.iter().chain(&demotion.flags).copied();
    let sizes = given.sizes("sizes");
    let used = |quantity| {
        demotion
            .quantities
            .iter()
            .any(|(known, _)| *known == quantity)
    };
    Ok(Needs {
        asked_at_age: age,
        placement: if any_frame {
            Placement::AtFault
        } else {
            Placement::Reserved
        },
        sizes,
        // An expression decides about each piece separately.
        every_size: sizes != SizeSet::Block,
        copies: if any_frame || given.is_on("copies") {
            Copies::Scattered
        } else {
            Copies::Never
        },
        scan: (period > 0).then_some(Scan {
            period,
            pages: 0,
            promotions: 0,
            order: PromotionOrder::ByAddress,
        }),
        asked_when_short: used(Quantity::Referenced) || demotion.flags.contains(&Flag::MemoryShort),
        charges: of_both().map(charges).fold(Charges::NONE, Charges::and),
        beyond_looking: beyond_looking(of_both(), flags()),
        sees_frames: of_both().any(Quantity::needs_frames) || flags().any(Flag::needs_frames),
        ..Needs::default()
    })
}

/// Returns the requirement that an observer of resident pages cannot satisfy.
fn beyond_looking(
    mut quantities: impl Iterator<Item = Quantity>,
    mut flags: impl Iterator<Item = Flag>,
) -> Option<Beyond> {
    let quantity = quantities.find_map(|quantity| match quantity {
        Quantity::Age => Some(Beyond::Ages),
        Quantity::Referenced => Some(Beyond::References),
        _ => None,
    });
    let advice = |flag| matches!(flag, Flag::Advised | Flag::AdvisedAgainst);
    quantity.or_else(|| flags.any(advice).then_some(Beyond::Advice))
}

/// The charges that a quantity needs.
const fn charges(quantity: Quantity) -> Charges {
    Charges {
        misses: matches!(quantity, Quantity::Misses),
        prefetch: matches!(quantity, Quantity::Prefetch),
        capacity: matches!(quantity, Quantity::Capacity),
    }
}

impl Policy for Expression {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn needs(&self) -> Needs {
        self.needs
    }

    fn decide(&self, point: Point, view: &View) -> Verdict {
        if !self.asked[point as usize] {
            return Verdict::Pass;
        }
        if matches!(point, Point::StoreToCleanSuperpage | Point::Short) {
            let holds = |rule: &Condition| rule.holds(view).is_ok();
            return Verdict::demote_if(view.promoted && self.demoted.as_ref().is_some_and(holds));
        }
        if !self.anywhere {
            if let Err(verdict) = view.reservation_to_decide_on(point) {
                return verdict;
            }
        } else if view.promoted {
            return Verdict::Pass;
        } else if view.reservation_age.is_none()
            && let Some(refusal) = view.coverage.refusal()
        {
            return Verdict::Stay(refusal);
        }
        match self.promoted.holds(view) {
            Ok(()) => Verdict::Promote,
            Err(reason) => Verdict::Stay(reason),
        }
    }
}
