//! Policies written by users: `promote if populated >= 64 or misses * 35 > 0.125 * copy_cycles`.
//!
//! ```text
//! policy     = "promote" [ "(" option { "," option } ")" ] "if" truth [ ";" "demote" "if" truth ]
//! truth      = truth "or" truth | truth "and" truth | "not" truth | number compare number
//!            | "kind" ( "==" | "!=" ) word | flag
//! number     = number ( "+" | "-" | "*" | "/" ) number | "-" number | quantity
//!            | "64" | "12.5%" | "64k"
//! compare    = "<" | "<=" | ">" | ">=" | "==" | "!="
//! ```
//!
//! `or` binds least, then `and`, `not`, comparisons, sums, products and signs; brackets may be
//! anywhere.
//!
//! `tokens` splits a text into tokens, and `grammar` makes a `tree` of them. `check` verifies units
//! and makes a `rule`, which decides. `policy` asks the rule when a value in the expression may
//! have changed. For `age`, `deadline` finds the age at which a comparison with a constant begins
//! to hold.

mod check;
mod deadline;
mod error;
mod grammar;
mod names;
mod options;
mod policy;
mod rule;
#[cfg(test)]
mod tests;
mod tokens;
mod tree;
mod trend;
mod unit;
mod words;

pub use error::ExpressionError;
pub use names::{Flag, Quantity};
pub use policy::Expression;
pub use unit::Unit;
pub use words::ExpressionLine;

use crate::Parameter;

/// The form of expressions, for lists and explanations of policies.
#[derive(Clone, Copy, Debug)]
pub struct ExpressionForm {
    /// The first word of an expression.
    pub name: &'static str,
    /// The notation.
    pub syntax: &'static str,
    /// A summary in one line.
    pub summary: &'static str,
    /// The meaning, in a few sentences.
    pub explanation: &'static str,
    /// The source.
    pub source: &'static str,
    /// The options in brackets after the first word.
    pub options: &'static [Parameter],
    /// Complete expressions.
    pub examples: &'static [&'static str],
}

/// The form of [`Expression`].
pub const FORM: ExpressionForm = ExpressionForm {
    name: "promote",
    syntax: "promote if EXPRESSION",
    summary: "promote where an expression over the block's counters holds; your own policy",
    explanation: "A reserved block becomes a superpage if the expression holds. A superpage is \
                  broken if the expression after `; demote if` holds. The policy is asked at \
                  faults and first stores, at TLB misses if the expression mentions them, and when \
                  a reservation reaches an age that the expression compares with `age`. Numbers \
                  have units, and an expression with mismatched units is refused before any \
                  replay; a number without a unit fits any unit.",
    source: "this project; the quantities are those that the other policies decide by",
    options: options::OPTIONS,
    examples: &[
        "promote if populated >= 64",
        "promote if populated == pages and (dirty == 0 or dirty == pages); demote if writable",
        "promote if age >= 1e6 and populated >= 12.5%",
        "promote(frames=any) if misses * miss_cycles > 0.125 * copy_cycles",
    ],
};
