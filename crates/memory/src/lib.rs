//! Address spaces, reservations, population maps.
//!
//! Two halves. [`AddressSpaces`] and [`Histories`] are what a trace says: which mappings there are,
//! which pages were referenced and stored to. They are the same for every policy, so they are kept
//! once. [`Memory`] is what one policy made of it, a few bytes for each block: whether it is
//! reserved and promoted, and what filled the pages that nobody referenced. An event becomes a list
//! of [`Change`]s in the first half, and each memory applies them, and then the histories. Every
//! verb that may leave a TLB with something wrong returns a [`Shootdown`] to carry out.
//!
//! The rules are those of docs/spec/model.md.
#![forbid(unsafe_code)]

mod advised;
mod block;
mod by_kind;
mod change;
pub mod frames;
mod history;
mod mapping;
mod mappings;
mod memory;
mod notice;
mod page_map;
mod pages;
pub mod population;
pub mod reservations;
mod space;
mod spaces;
mod state;
pub mod system;
mod touched;
mod unpacked;

pub use block::Block;
pub use by_kind::ByKind;
pub use change::{Change, Extent, Move, Shootdown, Span};
pub use history::{Histories, History, Seen};
pub use mapping::{Backing, Mapping, Rights};
pub use memory::{Counters, Memory, Totals};
pub use notice::{Leaf, Notice};
pub use page_map::PageMap;
pub use pages::Pages;
pub use space::Facts;
pub use spaces::{AddressSpaces, BlockId, MemoryId};
pub use touched::{Touched, Touches};

use broadleaf_units::Geometry;

/// The page sizes that are modelled.
pub const GEOMETRY: Geometry = Geometry::X86_64;

/// Base pages in a block.
pub const PAGES_PER_BLOCK: usize = GEOMETRY.pages_per_block() as usize;
