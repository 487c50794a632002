//! The model: what happens at each reference of a trace, for any policy and any machine.
//!
//! [`run`] takes a [`Source`] of trace items and a [`Plan`]. A world is the state of memory under
//! one policy. The model simulates a world once for all machines that only observe the world. A
//! policy that is notified of TLB misses has a world for each machine. The [`Outcome`] holds one
//! result for each policy and machine. The model touches no file and no clock.
#![forbid(unsafe_code)]

mod charged;
mod choices;
mod earlier;
pub mod events;
mod filter;
mod follow;
pub mod foresight;
mod gathered;
mod limits;
mod listener;
mod mmu;
mod offline;
mod origin;
mod outcome;
mod passes;
mod plan;
pub mod pool;
pub mod populate;
mod replay;
mod result;
pub mod shared;
mod source;
mod steps;
pub mod stream;
mod world;
mod worlds;

pub use broadleaf_memory::frames::{Buddyinfo, Pagetypeinfo, Start};
pub use broadleaf_memory::system::{Costs, Files, Place};
pub use earlier::MOST_EARLIER;
pub use limits::MemoryLimits;
pub use listener::{StepListener, StepsWanted};
pub use offline::{Choice, ChosenPiece, ChosenRange, LeftCharges, Region};
pub use origin::StepOrigin;
pub use outcome::{Error, Outcome, ReplayProgress, refused};
pub use passes::{Sources, named, run};
pub use plan::{MOST_THREADS, Plan, PlanError};
pub use source::{Items, SomeItems, Source, SourcePart, SourcePiece};
pub use steps::Step;
