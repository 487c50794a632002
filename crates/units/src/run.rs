//! Aligned runs of pages, and the leaves that map them.

use crate::{PackedScattering, PageNumber, PageSize, Rights};

/// An aligned run of pages of 4 KiB: as many as a page of one size has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AlignedRun {
    /// The first page.
    pub first: PageNumber,
    /// The size of the whole run.
    pub size: PageSize,
}

impl AlignedRun {
    /// The run of that size around a page of 4 KiB.
    #[inline]
    pub const fn around(page: PageNumber, size: PageSize) -> Self {
        let pages = 1 << size.shift().saturating_sub(PageSize::SIZE_4K.shift());
        Self {
            first: PageNumber(page.0 & !(pages - 1)),
            size,
        }
    }

    /// The number of pages. A size below 4 KiB has one.
    #[inline]
    pub const fn pages(self) -> u64 {
        1 << self.size.shift().saturating_sub(PageSize::SIZE_4K.shift())
    }

    /// The pages, first and after last.
    #[inline]
    pub const fn bounds(self) -> (u64, u64) {
        (self.first.0, self.first.0.saturating_add(self.pages()))
    }

    /// Returns true if the run contains a page.
    #[inline]
    pub const fn contains(self, page: PageNumber) -> bool {
        page.0.wrapping_sub(self.first.0) < self.pages()
    }
}

/// A mapped page: a leaf of a page table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Leaf {
    /// The pages of 4 KiB that the leaf maps.
    pub run: AlignedRun,
    /// The number of the first frame of 4 KiB. `None` for the page of zeroes that all spaces share.
    pub frame: Option<u64>,
    /// The access rights: those of the mapping. A page that waits for its copy keeps the right to
    /// store.
    pub rights: Rights,
    /// The places of the other frames, if the page is a scattered superpage. `None` if the frames
    /// follow one another.
    pub scattering: Option<PackedScattering>,
}

impl Leaf {
    /// A leaf that allows loads and stores.
    pub const fn new(run: AlignedRun, frame: Option<u64>) -> Self {
        Self {
            run,
            frame,
            rights: Rights::READ_WRITE,
            scattering: None,
        }
    }

    /// The frame of 4 KiB of a page of 4 KiB that the leaf maps. `None` for the page of zeroes that
    /// all spaces share.
    pub fn frame_of(&self, page: PageNumber) -> Option<u64> {
        let number = page.0 - self.run.first.0;
        scattered_frame(self.frame?, number, self.run.size, self.scattering)
    }
}

/// The frame of a page, by its number, of a page of `size` that begins at the frame `first`.
pub fn scattered_frame(
    first: u64,
    number: u64,
    size: PageSize,
    scattering: Option<PackedScattering>,
) -> Option<u64> {
    match scattering {
        None => Some(first + number),
        Some(packed) => Some(packed.unpack(size)?.frame(first, number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_contains_its_pages_alone() {
        let run = AlignedRun {
            first: PageNumber(512),
            size: PageSize::SIZE_2M,
        };
        assert_eq!(run.pages(), 512);
        let contained = (0..2048).filter(|page| run.contains(PageNumber(*page)));
        assert!(contained.eq(512..1024));
        assert!(!run.contains(PageNumber(u64::MAX)));
    }
}
