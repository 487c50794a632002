//! The state of one block under one policy.

use crate::{PAGES_PER_BLOCK, PageMap};

/// The state of one block under one policy. The maps that every reference reads come first, for the
/// cache.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[repr(align(64))]
pub struct UnpackedBlock {
    /// Pages referenced since they became resident. A resident page that is not was filled by a
    /// promotion.
    pub(crate) used: PageMap,
    /// Pages stored to since they became resident.
    pub(crate) dirty: PageMap,
    /// Pages that have a frame.
    pub(crate) resident: PageMap,
    /// Of the filled pages, those that were read from a file.
    pub(crate) from_file: PageMap,
    /// The time of the reservation, in accesses since the start of the trace.
    pub(crate) reserved_at: Option<u64>,
    /// The number of resident pages.
    pub(crate) populated: u32,
    /// The number of dirty pages.
    pub(crate) dirty_pages: u32,
    /// True if the block is a superpage.
    pub(crate) promoted: bool,
}

impl UnpackedBlock {
    /// The number of resident base pages.
    pub const fn populated(&self) -> u32 {
        self.populated
    }

    /// The number of dirty base pages.
    pub const fn dirty(&self) -> u32 {
        self.dirty_pages
    }

    /// True if the block is a superpage.
    pub const fn is_promoted(&self) -> bool {
        self.promoted
    }

    /// The time of the reservation, in accesses since the start of the trace. `None` if there is no
    /// reservation.
    pub const fn reserved_at(&self) -> Option<u64> {
        self.reserved_at
    }

    /// Returns true if a page is resident.
    pub fn is_resident(&self, offset: usize) -> bool {
        self.resident.get(offset)
    }

    /// Returns true if a page is dirty.
    pub fn is_dirty(&self, offset: usize) -> bool {
        self.dirty.get(offset)
    }

    /// Pages that a promotion filled and no reference used.
    pub fn filled(&self) -> PageMap {
        self.resident.without(&self.used)
    }

    /// The numbers of filled pages: those filled with zeroes, and those read from a file.
    pub(crate) fn filled_counts(&self, pages: &PageMap) -> (u64, u64) {
        let filled = self.filled().and(pages);
        let read = filled.and(&self.from_file).count();
        (u64::from(filled.count() - read), u64::from(read))
    }

    /// Removes pages. Removing the last page ends the reservation.
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

    /// Recounts the pages after the maps changed.
    pub(crate) fn recount(&mut self) {
        self.populated = self.resident.count();
        self.dirty_pages = self.dirty.count();
        if self.populated == 0 {
            self.reserved_at = None;
        }
    }

    /// Asserts the invariants between the fields.
    ///
    /// # Panics
    /// Panics if the fields disagree.
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
