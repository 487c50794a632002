//! Walks: the translations that a TLB loads after a miss.

use crate::TlbRequest;
use broadleaf_units::{
    AlignedRun, Asid, ColourRegions, PageNumber, PageSize, RegionShare, Rights, Scattering,
};
use std::num::NonZeroU8;

/// A translation: a page of an address space, its frame and its attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translation {
    /// The address space.
    pub tag: Asid,
    /// The first page of 4 KiB.
    pub first: PageNumber,
    /// The size of the page.
    pub size: PageSize,
    /// The number of the first frame of 4 KiB. `None` if no structure of the TLB wants frames, and
    /// for the page of zeroes that all spaces share.
    pub frame: Option<u64>,
    /// The access rights.
    pub rights: Rights,
    /// True if the page table's modified bit is set.
    pub modified: bool,
    /// The configuration of a scattered superpage (Chen 2014): the number of its share in the tree
    /// of shares, which says as much as `CR_Entry` and `CR_Num`. `None` if the frames follow one
    /// another. The colour regions are the same for all entries of a machine.
    pub share: Option<NonZeroU8>,
}

/// Entries are copied at each hit and miss.
const _: () = assert!(size_of::<Translation>() <= 32);

impl Translation {
    /// A translation for TLBs that want neither frames nor attributes: the page of `size` around a
    /// base page.
    #[inline]
    pub const fn plain(tag: Asid, page: PageNumber, size: PageSize) -> Self {
        Self {
            tag,
            first: AlignedRun::around(page, size).first,
            size,
            frame: None,
            rights: Rights::READ_WRITE,
            modified: false,
            share: None,
        }
    }

    /// The pages of 4 KiB, first and after last.
    #[inline]
    pub const fn pages(&self) -> (u64, u64) {
        self.run().bounds()
    }

    /// The pages of 4 KiB.
    #[inline]
    pub const fn run(&self) -> AlignedRun {
        AlignedRun {
            first: self.first,
            size: self.size,
        }
    }

    /// The frame of a page of 4 KiB that the translation covers, if the frames follow one another.
    pub fn frame_of(&self, page: PageNumber) -> Option<u64> {
        match self.share {
            None => Some(self.frame? + (page.0 - self.first.0)),
            Some(_) => None,
        }
    }

    /// The frame of a page of 4 KiB that the translation covers, on a machine with these colour
    /// regions (Chen 2014, equation 4). `None` if the frame is not known, or the regions have no
    /// such share.
    pub fn translated(&self, page: PageNumber, regions: ColourRegions) -> Option<u64> {
        let Some(share) = self.share else {
            return self.frame_of(page);
        };
        let share = RegionShare::of_node(share.get(), regions)?;
        let scattering = Scattering { regions, share };
        Some(scattering.frame(self.frame?, page.0 - self.first.0))
    }

    /// Returns true if both translate the same page of the same size, whatever its attributes are.
    #[inline]
    pub fn is_of_same_page(&self, other: &Self) -> bool {
        (self.tag, self.first, self.size) == (other.tag, other.first, other.size)
    }
}

/// The result of a walk: the missing translation, and the page table around it.
#[derive(Clone, Copy)]
pub struct Walk<'w> {
    /// The lookup that missed.
    pub request: TlbRequest,
    /// The translation of the missing page.
    pub translation: Translation,
    /// Reads the page table: the translation of another page of 4 KiB of the space, if that page
    /// is mapped.
    pub read: &'w dyn Fn(PageNumber) -> Option<Translation>,
}

impl Walk<'_> {
    /// The result of a walk for a load, for structures that want neither frames nor neighbours.
    pub const fn plain(tag: Asid, page: PageNumber, size: PageSize) -> Walk<'static> {
        let translation = Translation::plain(tag, page, size);
        Walk::alone(TlbRequest::load(tag, page), translation)
    }

    /// A translation without the page table around it.
    pub const fn alone(request: TlbRequest, translation: Translation) -> Walk<'static> {
        Walk {
            request,
            translation,
            read: &|_| None,
        }
    }
}

impl std::fmt::Debug for Walk<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Walk")
            .field("request", &self.request)
            .field("translation", &self.translation)
            .finish_non_exhaustive()
    }
}
