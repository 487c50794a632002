//! What is wrong with a file, and where.

use crate::view::OutOfReach;
use broadleaf_policy::ParseError;
use std::ops::Range;

/// What is wrong with a file, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fault}")]
pub struct Wrong {
    /// The bytes that are meant.
    pub at: Range<usize>,
    /// What is wrong with them.
    pub fault: Fault,
}

/// What can be wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It is no TOML, or a value is none of its kind.
    #[error("{0}")]
    Said(String),
    /// The file has no rule. No place in the file is meant.
    #[error(
        "the file holds no rule: add a table [[rule]] that names processes by command, user or cgroup"
    )]
    NoRule,
    /// A key that there is not.
    #[error("no key is called {found:?} here: there are {}", known.join(", "))]
    UnknownKey {
        /// What was found.
        found: String,
        /// The keys that there are.
        known: &'static [&'static str],
    },
    /// A user that there is not.
    #[error("no user of this machine is called {0:?}")]
    UnknownUser(String),
    /// The text is no policy.
    #[error("{error}")]
    NoPolicy {
        /// What was found.
        text: String,
        /// What is wrong with it.
        error: ParseError,
    },
    /// The policy cannot decide on live processes.
    #[error("{0}")]
    OutOfReach(#[from] OutOfReach),
}
