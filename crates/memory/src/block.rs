//! The state of one block under one policy.

use crate::{PAGES_PER_BLOCK, PageMap};

/// The state of one block under one policy. The maps that every reference looks at stand first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[repr(align(64))]
pub struct Block {
    /// Pages referenced since they became resident. A resident page that is not was filled by a
    /// promotion.
    pub(crate) used: PageMap,
    /// Pages stored to since they became resident.
    pub(crate) dirty: PageMap,
    /// Pages that have a frame.
    pub(crate) resident: PageMap,
    /// Of the filled pages, those that were read from a file.
    pub(crate) from_file: PageMap,
    /// When the reservation was made, in accesses since the start of the trace.
    pub(crate) reserved_at: Option<u64>,
    /// How many pages are resident.
    pub(crate) populated: u32,
    /// How many are dirty.
    pub(crate) dirty_pages: u32,
    /// Whether the block is a superpage.
    pub(crate) promoted: bool,
}

impl Block {
    /// How many base pages are resident.
    pub const fn populated(&self) -> u32 {
        self.populated
    }

    /// How many base pages are dirty.
    pub const fn dirty(&self) -> u32 {
        self.dirty_pages
    }

    /// Whether the block is a superpage.
    pub const fn is_promoted(&self) -> bool {
        self.promoted
    }

    /// When the reservation was made, in accesses since the start of the trace; `None` where there
    /// is none.
    pub const fn reserved_at(&self) -> Option<u64> {
        self.reserved_at
    }

    /// Whether that page is resident.
    pub fn is_resident(&self, offset: usize) -> bool {
        self.resident.get(offset)
    }

    /// Whether that page is dirty.
    pub fn is_dirty(&self, offset: usize) -> bool {
        self.dirty.get(offset)
    }

    /// Pages that a promotion filled and nobody referenced.
    pub fn filled(&self) -> PageMap {
        self.resident.without(&self.used)
    }

    /// Filled pages by what filled them: zeroes, and a file.
    pub(crate) fn filled_counts(&self, pages: &PageMap) -> (u64, u64) {
        let filled = self.filled().and(pages);
        let read = filled.and(&self.from_file).count();
        (u64::from(filled.count() - read), u64::from(read))
    }

    /// Takes those pages away. Where none is left, the reservation ends.
    pub(crate) fn drop_pages(&mut self, pages: &PageMap) {
        for map in [
            &mut self.used,
            &mut self.dirty,
            &mut self.resident,
            &mut self.from_file,
        ] {
            *map = map.without(pages);
        }
        self.recount();
    }

    /// Counts again after the maps changed.
    pub(crate) fn recount(&mut self) {
        self.populated = self.resident.count();
        self.dirty_pages = self.dirty.count();
        if self.populated == 0 {
            self.reserved_at = None;
        }
    }

    /// Asserts what the fields say about each other.
    ///
    /// # Panics
    /// Where they disagree.
    pub fn check(&self) {
        assert_eq!(
            self.populated,
            self.resident.count(),
            "populated is not what is resident"
        );
        assert_eq!(
            self.dirty_pages,
            self.dirty.count(),
            "the dirty count is not what is dirty"
        );
        assert!(
            self.used.is_within(&self.resident),
            "a page is used and not resident"
        );
        assert!(
            self.dirty.is_within(&self.used),
            "a page is dirty and not used"
        );
        assert!(
            self.from_file.is_within(&self.filled()),
            "a page came from a file and was not filled"
        );
        assert!(
            self.reserved_at.is_none() || self.populated > 0,
            "an empty block is reserved"
        );
        if self.promoted {
            assert_eq!(
                self.populated as usize, PAGES_PER_BLOCK,
                "a superpage with holes"
            );
            assert!(
                self.reserved_at.is_some(),
                "a superpage without a reservation"
            );
        }
    }
}
