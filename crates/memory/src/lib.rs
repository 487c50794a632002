//! Address spaces, reservations, population maps.
//!
//! The crate has two halves. [`AddressSpaces`] and [`Histories`] hold the facts of a trace: its
//! mappings, and the pages referenced and stored to. These facts are equal for every policy, so
//! they are kept once. [`Memory`] holds the state of one policy, a few bytes for each block:
//! whether the block is reserved and promoted, and what filled its unreferenced pages. The first
//! half turns an event into a list of [`Change`]s. Each memory applies the changes, and then the
//! histories do. Every verb that may leave a stale TLB entry returns a [`Shootdown`] to carry out.
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

pub use block::UnpackedBlock;
pub use by_kind::ByKind;
pub use change::{BlockSpan, Change, Extent, Move, Shootdown};
pub use history::{Histories, History, PageHistory};
pub use mapping::{Backing, Mapping};
pub use memory::{Counters, Memory, MemoryTotals, PolicyFacts};
pub use notice::Notice;
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
