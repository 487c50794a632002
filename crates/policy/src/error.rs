//! What can be wrong with a policy's name.

use alloc::string::String;

/// Why a name is not a policy's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// No policy has that name.
    #[error("no policy is called {name:?}")]
    Unknown {
        /// What was asked.
        name: String,
    },
    /// Brackets that are opened and not closed.
    #[error(
        "{text:?} lacks a closing bracket: \"(\" stands at column {opened}, and \")\" is missing at column {column}"
    )]
    NotClosed {
        /// What was asked.
        text: String,
        /// Where the bracket is opened, from 1.
        opened: usize,
        /// Where the other one is missing.
        column: usize,
    },
    /// The policy takes a number, and none was given.
    #[error("the policy {name} takes a number of {unit}: {syntax}, for example {example}")]
    Missing {
        /// The policy.
        name: &'static str,
        /// How to write it.
        syntax: &'static str,
        /// What the number counts.
        unit: &'static str,
        /// A name that would do.
        example: &'static str,
    },
    /// The policy takes no number.
    #[error("the policy {name} takes no number")]
    Unwanted {
        /// The policy.
        name: &'static str,
    },
    /// What stands in the number's place is none.
    #[error("{text:?} is not a number of {unit} for {}; write it as 64 or 1e6", place(.name, .parameter))]
    NotANumber {
        /// The policy.
        name: &'static str,
        /// The parameter, where the policy has several.
        parameter: Option<&'static str>,
        /// What was found.
        text: String,
        /// What the number counts.
        unit: &'static str,
    },
    /// The number is too small or too large.
    #[error("{} takes {least} to {most} {unit}", place(.name, .parameter))]
    OutOfRange {
        /// The policy.
        name: &'static str,
        /// The parameter, where the policy has several.
        parameter: Option<&'static str>,
        /// What the number counts.
        unit: &'static str,
        /// The least that is allowed.
        least: u64,
        /// The most that is allowed.
        most: u64,
    },
    /// What stands in a word's place is none of those that there are.
    #[error("{found:?} is not a value of {parameter:?} of the policy {name}; the values are {}", crate::listed(.known, "and"))]
    UnknownWord {
        /// The policy.
        name: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// What was found.
        found: String,
        /// The words that there are.
        known: &'static [&'static str],
    },
    /// What stands in the place of page sizes is no set of them.
    #[error(
        "{text:?} is not a set of page sizes for {parameter:?} of the policy {name}; write it as 2m, 64k+2m, all or none; sizes are powers of two from 4k to 512g"
    )]
    NotSizes {
        /// The policy.
        name: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// What was found.
        text: String,
    },
    /// The brackets hold another parameter's name.
    #[error("the policy {name} has no parameter {found:?}; it has {}", crate::listed(.known, "and"))]
    UnknownParameter {
        /// The policy.
        name: &'static str,
        /// What was found.
        found: String,
        /// What there is, in the catalogue's order.
        known: alloc::vec::Vec<&'static str>,
    },
    /// The brackets hold a value without a name, and the policy has several parameters.
    #[error("the policy {name} takes its parameters by name, as in {example}; {text:?} has none")]
    NotNamed {
        /// The policy.
        name: &'static str,
        /// What was found.
        text: String,
        /// A name that would do.
        example: &'static str,
    },
    /// The brackets hold a parameter's name twice.
    #[error("{parameter:?} of the policy {name} is given twice")]
    GivenTwice {
        /// The policy.
        name: &'static str,
        /// The parameter.
        parameter: &'static str,
    },
    /// It begins as an expression does, and is none.
    #[error(transparent)]
    Expression(#[from] crate::ExpressionError),
}

fn place(name: &str, parameter: &Option<&str>) -> String {
    match parameter {
        Some(parameter) => alloc::format!("{parameter:?} of the policy {name}"),
        None => alloc::format!("the policy {name}"),
    }
}
