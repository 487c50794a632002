//! Translation lookaside buffers: designs, organisations, replacement, and the state of one TLB.
//!
//! A [`Design`] is a validated value: the structures of a TLB, their index functions, their
//! organisation and their replacement. A [`Tlb`] is its state. A TLB knows no mapping: after a
//! miss, its user walks the page table and passes the result to [`Tlb::load`].
#![forbid(unsafe_code)]

mod answer;
mod choice;
mod composed;
mod design;
mod index;
mod log;
mod organisation;
mod packed;
mod placed;
mod quiet;
mod replacement;
mod request;
mod role;
pub mod set;
mod stacks;
mod state;
mod support;
mod walk;

pub use answer::{Evicted, Lookup};
pub use broadleaf_units::{
    AllowedValues, CatalogueChoice, Parametric, StructureParameter, StructureParameterError,
    StructureValue,
};
pub use choice::{OrganisationChoice, ReplacementChoice};
pub use composed::Composed;
pub use design::{Design, DesignError, Field, Structure};
pub use index::{BitField, Compiled, FewFields, IndexFunction};
pub use log::{TlbCounts, TlbLog};
pub use organisation::{
    BlockOfPage, Entries, EntryLookup, EntryShape, GridName, ORGANISATIONS, Organisation,
};
pub use packed::Packed;
pub use replacement::{
    REPLACEMENTS, Replace, Replacement, ReplacementState, RuleNeed, RuleShape, WayUse,
};
pub use request::{ReferenceKind, TlbRequest};
pub use role::{Fills, ProbeOrder, Role, ServedKinds};
pub use stacks::{GeometryMisses, Stacks};
pub use state::Tlb;
pub use support::{SupportNeed, SystemSupport};
pub use walk::{Translation, Walk};
