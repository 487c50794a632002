//! Parsing tokens into a tree.
//!
//! The parser is handwritten: the whole grammar is two short functions that climb by operator
//! precedence. Parser combinators (winnow, chumsky) would need as much code, and more for error
//! messages and for the limit on nesting. Expression interpreters (evalexpr, fasteval, rhai) need
//! the standard library. They also find types during evaluation, while units must be right before a
//! trace is read.

use super::ExpressionError;
use super::names::{KIND, KINDS};
use super::tokens::{Lexeme, Token};
use super::tree::{ExpressionNode, Operator, What, binds};
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use core::ops::Range;

/// The maximum nesting of brackets, `not` and signs.
const DEEPEST: usize = 64;

/// Words that are not names.
const KEYWORDS: &[&str] = &["promote", "demote", "if", "and", "or", "not"];

/// A parser of a token list.
pub(super) struct Parser<'a> {
    text: &'a str,
    tokens: &'a [Token<'a>],
    next: usize,
}

impl<'a> Parser<'a> {
    /// A parser of a text's tokens. The last token is [`Lexeme::End`].
    pub(super) const fn new(text: &'a str, tokens: &'a [Token<'a>]) -> Self {
        Self {
            text,
            tokens,
            next: 0,
        }
    }

    fn peek(&self) -> Lexeme<'a> {
        self.tokens
            .get(self.next)
            .map_or(Lexeme::End, |token| token.what)
    }

    /// The position of the next token.
    pub(super) fn place(&self) -> Range<usize> {
        let end = self.text.len();
        self.tokens
            .get(self.next)
            .map_or(end..end, |token| token.at.clone())
    }

    /// Consumes the next token and returns true, if the token is `wanted`.
    pub(super) fn take(&mut self, wanted: Lexeme<'_>) -> bool {
        let found = self.peek() == wanted;
        self.next += usize::from(found);
        found
    }

    /// Consumes the next token, or returns an error if the token is not `wanted`.
    pub(super) fn expect(
        &mut self,
        wanted: Lexeme<'_>,
        words: &str,
    ) -> Result<(), ExpressionError> {
        if self.take(wanted) {
            Ok(())
        } else {
            Err(self.expected(words))
        }
    }

    /// The error of an unexpected token.
    pub(super) fn expected(&self, words: &str) -> ExpressionError {
        let found = match self.tokens.get(self.next) {
            Some(token) if token.what != Lexeme::End => {
                alloc::format!("`{}`", &self.text[token.at.clone()])
            }
            _ => "the end".to_string(),
        };
        self.error(
            self.place(),
            alloc::format!("expected {words}, found {found}"),
        )
    }

    fn error(&self, at: Range<usize>, message: impl ToString) -> ExpressionError {
        ExpressionError::new(self.text, at, message)
    }

    /// Parses a whole expression.
    pub(super) fn expression(&mut self) -> Result<ExpressionNode, ExpressionError> {
        self.binding(0, 0)
    }

    /// Parses an expression whose operators have at least the precedence `least`.
    fn binding(&mut self, least: u8, depth: usize) -> Result<ExpressionNode, ExpressionError> {
        let mut left = self.operand(least, depth)?;
        while let Some(operator) = self.operator().filter(|operator| operator.binds() >= least) {
            self.next += 1;
            let right = self.binding(operator.binds() + 1, depth)?;
            let at = left.at.start..right.at.end;
            left = ExpressionNode {
                what: What::Two(operator, Box::new([left, right])),
                at,
            };
            if operator.binds() == binds::COMPARE && self.compares() {
                return Err(self.error(
                    self.place(),
                    "comparisons cannot be chained: write a < b and b < c",
                ));
            }
        }
        Ok(left)
    }

    fn compares(&self) -> bool {
        self.operator()
            .is_some_and(|operator| operator.binds() == binds::COMPARE)
    }

    fn operator(&self) -> Option<Operator> {
        let (Lexeme::Word(written) | Lexeme::Sign(written)) = self.peek() else {
            return None;
        };
        Operator::ALL
            .into_iter()
            .find(|operator| operator.written() == written)
    }

    /// Parses an operand of an operator.
    fn operand(&mut self, least: u8, depth: usize) -> Result<ExpressionNode, ExpressionError> {
        let at = self.place();
        if depth == DEEPEST {
            return Err(self.error(at, alloc::format!("brackets go at most {DEEPEST} deep")));
        }
        let lexeme = self.peek();
        self.next += 1;
        let what = match lexeme {
            Lexeme::Number(number) => What::Number(number),
            Lexeme::Percent(percent) => What::Percent(percent),
            Lexeme::Size(bytes) => What::Size(bytes),
            Lexeme::Sign("(") => {
                let inner = self.binding(0, depth + 1)?;
                let end = self.place().end;
                self.expect(Lexeme::Sign(")"), "`)`")?;
                return Ok(ExpressionNode {
                    at: at.start..end,
                    ..inner
                });
            }
            Lexeme::Sign("-") => {
                What::Negative(Box::new(self.binding(binds::NEGATIVE, depth + 1)?))
            }
            Lexeme::Word("not") if least <= binds::NOT => {
                What::Not(Box::new(self.binding(binds::NOT, depth + 1)?))
            }
            Lexeme::Word("not") => {
                return Err(self.error(
                    at,
                    "`not` applies to a comparison: put brackets around the comparison",
                ));
            }
            Lexeme::Word(KIND) if least <= binds::COMPARE => self.kind()?,
            Lexeme::Word(KIND) => return Err(self.error(at, kind_wanted())),
            Lexeme::Word(word) if !KEYWORDS.contains(&word) => What::Name(String::from(word)),
            _ => {
                self.next -= 1;
                return Err(self.expected("a name, a number or `(`"));
            }
        };
        let end = self
            .tokens
            .get(self.next.wrapping_sub(1))
            .map_or(at.end, |last| last.at.end);
        Ok(ExpressionNode {
            what,
            at: at.start..end,
        })
    }

    /// Parses the comparison after `kind`. A kind is not a value, because `shared` is also a
    /// quantity.
    fn kind(&mut self) -> Result<What, ExpressionError> {
        let equal = match self.peek() {
            Lexeme::Sign("==") => true,
            Lexeme::Sign("!=") => false,
            _ => return Err(self.error(self.place(), kind_wanted())),
        };
        self.next += 1;
        let Lexeme::Word(word) = self.peek() else {
            return Err(self.error(self.place(), kind_wanted()));
        };
        let Some((_, kind)) = KINDS.iter().find(|(name, _)| *name == word) else {
            return Err(self.error(self.place(), kind_wanted()));
        };
        self.next += 1;
        if self.compares() {
            return Err(self.error(
                self.place(),
                "comparisons cannot be chained: write a < b and b < c",
            ));
        }
        Ok(What::Kind { kind: *kind, equal })
    }
}

fn kind_wanted() -> String {
    let names = KINDS.map(|(name, _)| name);
    alloc::format!(
        "`kind` is compared by == or != with {}",
        crate::listed(&names, "or")
    )
}
