//! The faults of a rules file, each with its place.

use crate::view::OutOfReach;
use broadleaf_policy::ParseError;
use broadleaf_units::no_key;
use std::ops::Range;

/// A fault of a rules file, with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fault}")]
pub struct Wrong {
    /// The byte range of the fault.
    pub at: Range<usize>,
    /// The fault.
    pub fault: Fault,
}

/// The kinds of faults.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The file is invalid TOML, or a value has the wrong type.
    #[error("{0}")]
    Invalid(String),
    /// The file has no rule. The fault has no place in the file.
    #[error(
        "the file holds no rule: add a table [[rule]] that names processes by command, user or \
         cgroup"
    )]
    NoRule,
    /// The key is unknown.
    #[error("{}", no_key(found, known))]
    UnknownKey {
        /// The key in the file.
        found: String,
        /// The valid keys.
        known: Vec<&'static str>,
    },
    /// The user is unknown.
    #[error("no user of this machine is called {0:?}")]
    UnknownUser(String),
    /// The text is no policy.
    #[error("{error}")]
    NoPolicy {
        /// The text in the file.
        text: String,
        /// The error of the policy parser.
        error: ParseError,
    },
    /// The policy cannot decide on live processes.
    #[error("{0}")]
    OutOfReach(#[from] OutOfReach),
}
