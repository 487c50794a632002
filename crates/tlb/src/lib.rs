//! Translation lookaside buffers: designs, organisations, replacement, and the state of one TLB.
//!
//! A [`Design`] is a validated value: the structures of a TLB, their index functions, their
//! organisation and their replacement. A [`Tlb`] is its state. A TLB knows no mapping: after a
//! miss, its user walks the page table and passes the page to [`Tlb::fill`].
#![forbid(unsafe_code)]

mod answer;
mod composed;
mod design;
mod index;
mod organisation;
mod packed;
mod replacement;
pub mod set;
mod state;

pub use answer::{Evicted, Lookup};
pub use composed::Composed;
pub use design::{Design, DesignError, Field, Structure};
pub use index::{BitField, Compiled, FewFields, IndexFunction};
pub use organisation::{Entries, ORGANISATIONS, Organisation, Translation};
pub use packed::Packed;
pub use replacement::{
    REPLACEMENTS, Replace, Replacement, ReplacementChoice, ReplacementError, ReplacementState,
    RuleNeed, RuleParameter, RuleShape, WayUse,
};
pub use state::Tlb;
