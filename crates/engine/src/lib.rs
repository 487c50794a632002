//! Wiring and the access loop: one decoded trace, many policies and machines.
//!
//! [`run`] takes a [`Source`] of trace items and a [`Plan`], replays every policy with a memory of its own and every
//! machine with a TLB of its own, and returns an [`Outcome`]: one result for each policy and machine, a summary of the
//! trace, and notes that a reader of the numbers needs. It touches no file and no clock.
#![forbid(unsafe_code)]

mod batch;
mod cell;
#[cfg(test)]
mod checked;
mod curve;
mod deadlines;
mod events;
mod feed;
mod kept;
mod limited;
mod members;
mod offline;
mod passes;
mod plan;
mod pool;
mod populate;
mod reduce;
mod result;
mod run;
mod sieve;
mod sifted;
mod slot;
mod source;
mod stream;
mod team;
mod teams;
mod trail;
mod translation;

pub use broadleaf_memory::frames::{Buddyinfo, Pagetypeinfo, Start};
pub use broadleaf_memory::system::{Costs, Files, Place};
pub use limited::Limits;
pub use offline::{Choice, ChosenPiece, ChosenRange, LeftCharges, Region};
pub use plan::{Plan, PlanError};
pub use reduce::{filter_in_words, reduce};
pub use run::{Error, Outcome, Progress, run, run_after};
pub use source::{Items, Part, Piece, SomeItems, Source};
