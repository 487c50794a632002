//! The model: what happens at each reference of a trace, for any policy and any machine.
//!
//! [`run`] takes a [`Source`] of trace items and a [`Plan`]. The [`Outcome`] holds one result for
//! each policy and machine. The model touches no file and no clock.
//!
//! A *world* is a memory under one policy, and the machines that translate its references. Machines
//! with equal page sizes share a world, unless the policy is notified of their misses: then each
//! machine has a world of its own.
//!
//! Each reference takes these steps, in this order (`world/references.rs`):
//!
//! 1. Daemons that fell due run: the policy's and the page daemon.
//! 2. The reference is *settled* if memory need not act on it. Otherwise memory acts: it serves a
//!    page fault, notes the first store to a page, or marks the page as referenced again. The crate
//!    `memory` asks the policy there, counts faults, and takes frames.
//! 3. Page tables are updated, and stale translations leave the TLBs of all machines.
//! 4. Each machine looks the page up in its TLB (`mmu.rs`). If no level of the TLB holds the page,
//!    the machine walks its page table, loads the translation, and ends the walk (`mmu/walks.rs`).
//!    A policy that is notified of misses is asked between: the walk ends before, and the load
//!    comes after (`world/charging.rs`). A hit in a lower level is counted, and takes no walk.
//! 5. Machines with caches access the line of the visit, at the physical address that memory gave
//!    the page (`world/caching.rs`). The walks of step 4 have read their lines before. A clock of
//!    the core turns instructions and latencies into cycles (`core_clock`).
//!
//! A lookup reaches a machine at once, later with others (`world/waiting.rs`), in a group
//! (`world/grouped.rs`), or on a short path for one machine with caches (`world/caching.rs`).
//! `world/quiet.rs` and `world/filtering.rs` leave out lookups that hit and change nothing. All
//! these routes count alike. A plan with curves replays every visit: TLBs of every geometry see
//! each reference to data as well (`world/curves.rs`). `result.rs` turns the counts into results.
#![forbid(unsafe_code)]

mod beginning;
mod charged;
mod choices;
mod core_clock;
mod curve;
mod earlier;
pub mod events;
mod filter;
mod filter_groups;
mod follow;
pub mod foresight;
mod future;
mod gathered;
mod limits;
mod listener;
pub mod map;
mod mapped;
mod mmu;
mod offline;
mod origin;
mod outcome;
mod passes;
mod plan;
mod plan_error;
pub mod pool;
pub mod populate;
mod read_pages;
mod recorded;
mod refused;
mod replay;
mod result;
mod rule_notes;
pub mod shared;
mod source;
mod steps;
pub mod stream;
mod together;
mod visit_groups;
mod visit_slice;
mod walk_memo;
mod walked;
mod world;
mod worlds;

pub use beginning::Beginning;
pub use broadleaf_memory::AddressSpaces;
pub use broadleaf_memory::frames::{ALLOCATORS, Allocator, Buddyinfo, Pagetypeinfo, Start};
pub use broadleaf_memory::system::{Costs, Decided, Files, Place};
pub use earlier::MOST_EARLIER;
pub use limits::MemoryLimits;
pub use listener::{
    HeardDecision, LookedPage, MemoryLook, SlowLookups, StepListener, StepSurroundings, StepsWanted,
};
pub use offline::{Choice, ChosenPiece, ChosenRange, LeftCharges, MappedRegion};
pub use origin::StepOrigin;
pub use outcome::{Error, NoteAbout, Outcome, ReplayNote, ReplayProgress, refused};
pub use passes::{Sources, named, run};
pub use plan::identity::PlanIdentity;
pub use plan::workers::{Guesses, SegmentRules};
pub use plan::{MOST_THREADS, Plan};
pub use plan_error::PlanError;
pub use source::{Items, SomeItems, Source, SourcePart, SourcePiece};
pub use steps::{Step, VisitStep};
pub use together::{MixError, MixOutcome, MixProgram, MixWork, check_mix, run_mix};
