//! Addresses, page numbers, page sizes, counts and ids as types.
//!
//! All crates exchange these types, so the compiler rejects an address in place of a page number,
//! and a page number in place of a block number. The crate also has the types of all catalogues,
//! and finds the name that a user probably meant. It imports no other crate.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod backing;
mod choice;
mod colour;
mod described;
mod distance;
mod geometry;
mod ids;
mod nearest;
mod page;
mod page_sizes;
mod parameter;
mod plain_toml;
mod random;
mod rights;
mod run;
mod size;
mod size_set;

pub use backing::BackingKind;
pub use choice::{CatalogueChoice, Parametric, split_outside_brackets};
pub use colour::{
    CacheIndex, ColourError, ColourRegions, PackedScattering, RegionShare, Scattering,
    WantedShares, configuration_bits, divide_regions,
};
pub use described::Described;
pub use geometry::Geometry;
pub use ids::{Asid, CoreId, FileId, SiteId, SpaceId, ThreadId};
pub use nearest::{did_you_mean, no_key};
pub use page::{BlockNumber, LineNumber, PageNumber, PageSize, ShortName, VirtAddr};
pub use page_sizes::{LARGEST_ORDER, MOST_LEVELS, PageSizes, PageSizesError};
pub use parameter::{AllowedValues, StructureParameter, StructureParameterError, StructureValue};
pub use plain_toml::plain_toml;
pub use random::SplitMix64;
pub use rights::Rights;
pub use run::{AlignedRun, Leaf, scattered_frame};
pub use size::{lacks_unit, size};
pub use size_set::SizeSet;
