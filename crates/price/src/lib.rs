//! Prices of TLBs: chip area, access time, and execution time from misses.
//!
//! A [`TlbPlan`] is a number of entries, a number of ways and the bits of an entry. Its area and
//! its access time follow from these three. The bits of an entry come from an [`EntryKind`], a
//! catalogue. The crate knows no TLB that holds translations, and no machine.
//!
//! The area formulas, the bits and the execution time are those of Talluri 1995, chapter 2.
//! [`surrogate`] is fitted to the access times that Talluri printed. [`delay`] derives access times
//! from the delay equations of Wilton and Jouppi (WRL Research Report 93/5).
#![forbid(unsafe_code)]

pub mod area;
pub mod delay;
mod entry_bits;
mod equal_area;
pub mod execution;
mod field_widths;
mod kind;
mod plan;
pub mod surrogate;

pub use entry_bits::EntryBits;
pub use equal_area::nearest_entries;
pub use field_widths::FieldWidths;
pub use kind::{ENTRY_KINDS, EntryKind, EntryReach};
pub use plan::TlbPlan;
