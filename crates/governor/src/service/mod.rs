//! The rules by which a service selects and governs processes, and their file format.
//!
//! This module touches no process. A rule maps the [`Traits`] of a process, which the caller
//! collects, to an action.

mod fault;
mod file;
mod keys;
mod reader;
mod rules;

pub use fault::{Fault, Wrong};
pub use file::Users;
pub use keys::{KEYS, KeyPlace, ServiceKey};
pub use rules::{Care, Matches, Rule, ServiceRules, Then, Traits};

#[cfg(test)]
mod tests;
