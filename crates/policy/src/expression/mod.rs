//! Policies that their user writes down: `promote if populated >= 64 or misses * 35 > 0.125 * copy_cycles`.
//!
//! ```text
//! policy     = "promote" [ "(" option { "," option } ")" ] "if" truth [ ";" "demote" "if" truth ]
//! truth      = truth "or" truth | truth "and" truth | "not" truth | number compare number | "kind" ( "==" | "!=" ) word | flag
//! number     = number ( "+" | "-" | "*" | "/" ) number | "-" number | quantity | "64" | "12.5%" | "64k"
//! compare    = "<" | "<=" | ">" | ">=" | "==" | "!="
//! ```
//!
//! `or` binds least, then `and`, `not`, comparisons, sums, products and signs; brackets go anywhere. A text becomes tokens (`tokens`), these a tree (`grammar`, `tree`), and the tree a rule with right units
//! (`check`, `rule`), which is what decides. An expression says nothing of when it is asked: that is whenever something that it speaks of may have
//! changed (`policy`), which for `age` is when a reservation gets as old as a constant (`deadline`).

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
pub use words::Line;

use crate::Parameter;

/// How expressions are written, for whoever lists and explains policies.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// The word that they begin with.
    pub name: &'static str,
    /// How to write one.
    pub syntax: &'static str,
    /// One line.
    pub summary: &'static str,
    /// What it means, in a few sentences.
    pub explanation: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// What may stand in brackets behind the word.
    pub options: &'static [Parameter],
    /// Expressions that are ready to use.
    pub examples: &'static [&'static str],
}

/// The form of [`Expression`].
pub const FORM: Form = Form {
    name: "promote",
    syntax: "promote if EXPRESSION",
    summary: "promote where an expression over the block's counters holds; your own policy",
    explanation: "A reserved block becomes a superpage where the expression holds, and is broken again where one behind `; demote if` does. It is asked at faults and first stores, \
                  at TLB misses where it speaks of them, and when a reservation gets as old as a constant that `age` is compared with. Numbers have units, and what does not \
                  go together is refused before anything is replayed; a number without a unit stands for any.",
    source: "this project; the quantities are those that the other policies decide by",
    options: options::OPTIONS,
    examples: &[
        "promote if populated >= 64",
        "promote if populated == pages and (dirty == 0 or dirty == pages); demote if writable",
        "promote if age >= 1e6 and populated >= 12.5%",
        "promote(frames=any) if misses * miss_cycles > 0.125 * copy_cycles",
    ],
};
