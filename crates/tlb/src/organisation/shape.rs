//! What grids and prices need to know of an organisation.

use super::subblock_parameters::BLOCK;
use crate::{OrganisationChoice, Structure};
use broadleaf_units::PageSize;

/// A second name of an organisation's TLBs in grids. The organisation's own name is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridName {
    /// The name.
    pub name: &'static str,
    /// True if TLBs of that name have one page size.
    pub one_size: bool,
}

/// Returns the aligned block whose pages need the set of a page of the first size. The second size
/// is the smallest of the structure. `None` if the parameters give no block.
pub type BlockOfPage = fn(&OrganisationChoice, PageSize, PageSize) -> Option<PageSize>;

/// What one entry of a structure maps. The bits of the entry follow, and so the structure's price.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryShape {
    /// The name of the kind of entry, in the catalogue of priced kinds.
    pub kind: &'static str,
    /// The sizes of the pages or blocks that an entry can map, smallest first.
    pub maps: Vec<PageSize>,
}

impl EntryShape {
    /// An entry with a tag, a frame and attributes for one page of any of the structure's sizes.
    #[allow(
        clippy::unnecessary_wraps,
        reason = "an organisation of the catalogue names the function itself"
    )]
    pub fn one_page(structure: &Structure) -> Option<Self> {
        Some(Self::one_of(structure.pages.iter().map(|(size, _)| *size)))
    }

    /// An entry with a tag, a frame and attributes for one page, or for a properly placed block.
    pub fn page_or_block(structure: &Structure) -> Option<Self> {
        let pages = structure.pages.iter().map(|(size, _)| *size);
        let block = structure.organisation.size(BLOCK.name);
        Some(Self::one_of(pages.chain([block?])))
    }

    fn one_of(sizes: impl Iterator<Item = PageSize>) -> Self {
        let mut maps: Vec<PageSize> = sizes.collect();
        maps.sort_unstable();
        maps.dedup();
        let kind = match maps.len() {
            1 => "single-page-size",
            _ => "superpage",
        };
        Self { kind, maps }
    }

    /// An entry of a kind with one tag for a block. `None` if a page of the structure is larger:
    /// it would need don't-care bits, which these kinds lack.
    pub fn block(kind: &'static str, structure: &Structure) -> Option<Self> {
        let block = structure.organisation.size(BLOCK.name)?;
        let fits = structure.pages.iter().all(|(size, _)| *size <= block);
        let maps = vec![block];
        fits.then_some(Self { kind, maps })
    }
}
