//! Accelerators of the model, and the planner that chooses among them.
//!
//! An accelerator returns the counts of the model, faster. It serves the plans that it covers. Each
//! accelerator may be deleted, and every result stays.
#![forbid(unsafe_code)]

mod accelerators;
mod batch;
mod bits;
mod cell;
#[cfg(test)]
mod checked;
mod covers;
mod curve;
mod deadlines;
mod feed;
mod followed;
mod kept;
mod lanes;
mod members;
mod passes;
mod prepare;
mod quick;
mod reduce;
mod result;
mod run;
mod segments;
mod slot;
#[cfg(test)]
mod small_machines;
mod team;
mod teams;
mod translation;

pub use accelerators::{ACCELERATORS, Accelerator, AcceleratorChoice, REDUCED_FORM, explain};
pub use covers::{WhyNot, covers, covers_all};
use lanes::{
    Entry, FamilyMachines, MOST_LANES, PageId, Size, Stop, Tlbs, Walks, have_one_first_level,
};
pub use reduce::reduce;
pub use run::{run, run_after};
