//! Colours: the parts of a physically indexed cache that a page can occupy.
//!
//! [`CacheIndex`] has the sets of a cache, and [`ColourRegions`] groups the colours of a superpage.
//! A [`RegionShare`] is the part of the regions that one program uses. [`Scattering`] translates
//! the addresses of a superpage that lies in such a share of several physical superpages.

mod cache_index;
mod division;
mod packed;
mod regions;
mod scattering;
mod share;
mod wanted;

pub use cache_index::CacheIndex;
pub use division::divide_regions;
pub use packed::PackedScattering;
pub use regions::{ColourError, ColourRegions};
pub use scattering::Scattering;
pub use share::{RegionShare, configuration_bits};
pub use wanted::WantedShares;
