//! TLB designs, walks and cost models.
//!
//! A [`Machine`] is a value, read from the text of a TOML file: which TLB structures it has, how they are indexed, and
//! what a walk costs. A [`Tlb`] is its state. Nothing here decides how pages come to be mapped; a host says at a miss which
//! page size its page table holds.
#![forbid(unsafe_code)]

mod catalogue;
pub mod charges;
mod design;
mod error;
mod family;
mod index;
mod lanes;
mod machine;
mod recency;
mod set;
mod stacks;
mod tlb;

pub use catalogue::{
    Described, NoMachine, PAGE_TABLES, TLBS, UnknownMachine, machine, machine_names, machine_text,
};
pub use design::{Design, Structure};
pub use error::MachineError;
pub use family::Family;
pub use index::{BitField, IndexFunction};
pub use lanes::{Entry, MOST_LANES, PageId, Size, Tlbs, Walks};
pub use machine::{Machine, WalkCosts};
pub use recency::{LeavingOut, Made, Place, Places, Recency};
pub use stacks::{GeometryMisses, Stacks};
pub use tlb::{Evicted, Lookup, SpaceTag, Tlb};
