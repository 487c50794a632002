//! Slow, obvious models to compare with.
//!
//! The engine replays a trace with packed arrays and whole visits at a time. This crate does the same work a second
//! time, from the written rules alone (`docs/spec/model.md` for memory and policies, Zhu 2018
//! section 4 for the TLBs), with vectors, ordered maps and one reference after another, so that a difference between the
//! two points at a mistake in one of them. It shares nothing with the models that it checks.
//!
//! [`replay_romer`] does so for policies that are told of TLB misses (Romer 1995, and `docs/spec/charges.md`).
//!
//! [`offline`] finds the superpages that would have been best from the beginning, as OFFLINE of the same paper does and exactly.
//!
//! [`replay`] gives the counts of one policy; [`random`] makes traces that reach the corners, and cuts a failing one
//! down; [`split`] cuts visits apart, which may change no count.
#![forbid(unsafe_code)]

mod block;
mod counts;
mod machine;
mod mappings;
mod memory;
pub mod offline;
mod policy;
pub mod random;
mod recording;
mod replay;
mod romer;
pub mod split;
mod tlb;

pub use counts::Counts;
pub use machine::Machine;
pub use policy::PolicySpec;
pub use recording::{Foreknowledge, OwnedItem, Recording, Survey};
pub use replay::{Pace, Replay, replay, replay_items};
pub use romer::{RomerCounts, RomerMachine, RomerPolicy, replay_romer};
pub use tlb::{AgedTlb, Found, PageSizeKind};
