//! Translation lookaside buffers: designs, replacement, and the state of one TLB.
//!
//! A [`Design`] is a validated value: the structures of a TLB, their index functions and their
//! replacement. A [`Tlb`] is its state. A TLB knows no mapping: after a miss, its user walks the
//! page table and passes the size of the page to [`Tlb::fill`].
#![forbid(unsafe_code)]

mod catalogue;
mod design;
mod index;
pub mod set;
mod state;

pub use catalogue::{Described, TLBS};
pub use design::{Design, DesignError, Field, Structure};
pub use index::{BitField, Compiled, IndexFunction};
pub use state::{Evicted, Lookup, Tlb};
