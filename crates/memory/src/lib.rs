//! Address spaces, reservations, population maps.
//!
//! Two halves. [`AddressSpaces`] is what a trace says: which mappings there are, which blocks were ever touched. It is the
//! same for every policy, so it is kept once. [`Memory`] is what one policy made of it: which pages are resident and dirty,
//! which blocks are reserved and promoted. An event becomes a list of [`Change`]s in the first half, and each memory
//! applies them. Every verb that may leave a TLB with something wrong returns a [`Shootdown`] to carry out.
//!
//! The rules are those of docs/decisions/0001.
#![forbid(unsafe_code)]

mod block;
mod change;
mod mapping;
mod mappings;
mod memory;
mod page_map;
mod pages;
mod space;
mod spaces;

pub use block::Block;
pub use change::{Change, Extent, Move, Shootdown, Span};
pub use mapping::{Backing, Mapping, Rights};
pub use memory::{Counters, Memory, Totals};
pub use page_map::PageMap;
pub use pages::Pages;
pub use space::Facts;
pub use spaces::{AddressSpaces, BlockId};

use broadleaf_units::Geometry;

/// The page sizes that are modelled.
pub const GEOMETRY: Geometry = Geometry::X86_64;

/// Base pages in a block.
pub const PAGES_PER_BLOCK: usize = GEOMETRY.pages_per_block() as usize;
