//! Errors in a policy's name.

use alloc::string::String;

/// An error in a policy's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// No policy has this name.
    #[error("no policy is called {name:?}")]
    Unknown {
        /// The given name.
        name: String,
    },
    /// An opening bracket without a closing bracket.
    #[error(
        "{text:?} lacks a closing bracket: \"(\" is at column {opened}, and \")\" is missing at \
         column {column}"
    )]
    NotClosed {
        /// The given name.
        text: String,
        /// The column of the opening bracket, from 1.
        opened: usize,
        /// The column at which the closing bracket is missing.
        column: usize,
    },
    /// The policy takes a number, and the name has none.
    #[error("the policy {name} takes a number of {unit}: {syntax}, for example {example}")]
    Missing {
        /// The policy.
        name: &'static str,
        /// The notation.
        syntax: &'static str,
        /// The unit of the number.
        unit: &'static str,
        /// An example of a valid name.
        example: &'static str,
    },
    /// The policy takes no number.
    #[error("the policy {name} takes no number")]
    Unwanted {
        /// The policy.
        name: &'static str,
    },
    /// The text of a number is not a number.
    #[error(
        "{text:?} is not a number of {unit} for {}; write it as 64 or 1e6",
        place(.name, .parameter)
    )]
    NotANumber {
        /// The policy.
        name: &'static str,
        /// The parameter, if the policy has several.
        parameter: Option<&'static str>,
        /// The given text.
        text: String,
        /// The unit of the number.
        unit: &'static str,
    },
    /// The number is out of range.
    #[error("{} takes {least} to {most} {unit}", place(.name, .parameter))]
    OutOfRange {
        /// The policy.
        name: &'static str,
        /// The parameter, if the policy has several.
        parameter: Option<&'static str>,
        /// The unit of the number.
        unit: &'static str,
        /// The minimum.
        least: u64,
        /// The maximum.
        most: u64,
    },
    /// The text is not one of the parameter's words.
    #[error(
        "{found:?} is not a value of {parameter:?} of the policy {name}; the values are {}",
        crate::listed(.known, "and")
    )]
    UnknownWord {
        /// The policy.
        name: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// The given text.
        found: String,
        /// The valid words.
        known: &'static [&'static str],
    },
    /// The text is not a set of page sizes.
    #[error(
        "{text:?} is not a set of page sizes for {parameter:?} of the policy {name}; write it as \
         2m, 64k+2m, all or none; sizes are powers of two from 4k to 512g"
    )]
    NotSizes {
        /// The policy.
        name: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// The given text.
        text: String,
    },
    /// The text is no list of shares of a cache.
    #[error(
        "{text:?} are no shares for {parameter:?} of the policy {name}; write them as 1/4+1/2, one \
         for each of 1 to {most} owners; each is one divided by a power of two up to 64"
    )]
    NotShares {
        /// The policy.
        name: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// The given text.
        text: String,
        /// The most owners.
        most: usize,
    },
    /// The brackets hold an unknown parameter.
    #[error(
        "the policy {name} has no parameter {found:?}; it has {}",
        crate::listed(.known, "and")
    )]
    UnknownParameter {
        /// The policy.
        name: &'static str,
        /// The given parameter.
        found: String,
        /// The known parameters, in the catalogue's order.
        known: alloc::vec::Vec<&'static str>,
    },
    /// The brackets hold a value without a name, and the policy has several parameters.
    #[error("the policy {name} takes its parameters by name, as in {example}; {text:?} has none")]
    NotNamed {
        /// The policy.
        name: &'static str,
        /// The given text.
        text: String,
        /// An example of a valid name.
        example: &'static str,
    },
    /// The brackets hold a parameter twice.
    #[error("{parameter:?} of the policy {name} is given twice")]
    GivenTwice {
        /// The policy.
        name: &'static str,
        /// The parameter.
        parameter: &'static str,
    },
    /// The value of a parameter has no effect beside the other values.
    #[error(
        "{parameter}={value} of the policy {name} has no effect without {}",
        .others.join(" or ")
    )]
    NoEffect {
        /// The policy.
        name: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// Its value.
        value: String,
        /// The parameters and values of which one is needed.
        others: alloc::vec::Vec<String>,
    },
    /// The text begins as an expression and is invalid.
    #[error(transparent)]
    Expression(#[from] crate::ExpressionError),
}

fn place(name: &str, parameter: &Option<&str>) -> String {
    match parameter {
        Some(parameter) => alloc::format!("{parameter:?} of the policy {name}"),
        None => alloc::format!("the policy {name}"),
    }
}
