//! Addresses, page numbers, page sizes, counts and ids as types.
//!
//! All crates exchange these types, so the compiler rejects an address in place of a page number,
//! and a page number in place of a block number. This crate imports no other crate.
#![no_std]
#![forbid(unsafe_code)]

mod described;
mod geometry;
mod ids;
mod page;
mod rights;
mod size;

pub use described::Described;
pub use geometry::Geometry;
pub use ids::{CoreId, FileId, SpaceId, SpaceTag, ThreadId};
pub use page::{BlockNumber, LineNumber, PageNumber, PageSize, ShortName, VirtAddr};
pub use rights::Rights;
pub use size::{lacks_unit, size};
