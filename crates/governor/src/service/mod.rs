//! Rules by which a service picks the processes that it looks after, and the file that they are written in.
//!
//! Nothing here touches a process: rules say of [`Traits`], which somebody else found out, what is to be done.

mod fault;
mod file;
mod reader;
mod rules;

pub use fault::{Fault, Wrong};
pub use file::Users;
pub use rules::{Care, Matches, Rule, Service, Then, Traits};

#[cfg(test)]
mod tests;
