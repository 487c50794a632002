//! Addresses, page numbers, page sizes, counts and ids as types.
//!
//! Everything else in Broadleaf speaks in these types, so that an address is never taken for a page number nor a page
//! number for a block number. This crate knows nothing of any other.
#![no_std]
#![forbid(unsafe_code)]

mod described;
mod geometry;
mod ids;
mod page;
mod size;

pub use described::Described;
pub use geometry::Geometry;
pub use ids::{FileId, SpaceId, SpaceTag, ThreadId};
pub use page::{BlockNumber, PageNumber, PageSize, ShortName, VirtAddr};
pub use size::{lacks_unit, size};
