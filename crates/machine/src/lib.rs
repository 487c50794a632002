//! Machines: the TLBs of a processor and the cost of a walk, read from TOML.
//!
//! A [`Machine`] is a validated value. It knows no world: which pages are mapped is not its matter.
#![forbid(unsafe_code)]

mod catalogue;
mod costs;
mod description;
mod error;

pub use catalogue::{NoMachine, PAGE_TABLES, UnknownMachine, machine, machine_names, machine_text};
pub use costs::WalkCosts;
pub use description::Machine;
pub use error::MachineError;
