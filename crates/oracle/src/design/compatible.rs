//! Compatible pages: those that may share one entry.

use super::{SlowBlocks, SlowFrames, SlowModified, SlowPage, SlowValid};

/// A page of an entry: the first page of its slot, and its translation.
pub(super) type SlotPage = (u64, SlowPage);

impl SlowBlocks {
    /// The frame of the slot's first page.
    fn frame((page, of): SlotPage) -> Option<u64> {
        of.frame.map(|frame| frame + page - of.first)
    }

    /// Returns true if a page lies in a block of frames at its place in the block of `size` pages
    /// (SB is set).
    pub(super) fn is_placed(size: u64, page: SlotPage) -> bool {
        Self::frame(page).is_some_and(|frame| frame % size == page.0 % size)
    }

    /// Returns true if a page can share an entry of `size` pages with any other.
    pub(super) fn can_share(&self, size: u64, page: SlotPage) -> bool {
        match self.frames {
            SlowFrames::Any => true,
            SlowFrames::Placed => Self::is_placed(size, page),
            SlowFrames::HighBits => page.1.frame.is_some(),
        }
    }

    /// Returns true if two pages of one block can share an entry of `size` pages.
    pub(super) fn are_compatible(&self, size: u64, one: SlotPage, other: SlotPage) -> bool {
        let block_of_frames = |page| Self::frame(page).map(|frame| frame / size);
        let is_any = self.frames == SlowFrames::Any;
        let frames = is_any || block_of_frames(one) == block_of_frames(other);
        let rights = !self.shares_rights || one.1.rights == other.1.rights;
        let parts_modified = self.modified == SlowModified::Attribute;
        let modified = !parts_modified || one.1.modified == other.1.modified;
        let both = self.can_share(size, one) && self.can_share(size, other);
        both && frames && rights && modified
    }

    /// Returns true if the valid bits can express these slots.
    pub(super) fn can_express(&self, slots: &[Option<SlowPage>]) -> bool {
        let used: Vec<usize> = (0..slots.len()).filter(|at| slots[*at].is_some()).collect();
        match self.valid {
            SlowValid::Vector => true,
            SlowValid::Run => used.windows(2).all(|pair| pair[0] + 1 == pair[1]),
            SlowValid::Whole => {
                let names = used.iter().filter_map(|at| slots[*at]);
                let names: Vec<_> = names.map(|page| page.name()).collect();
                used.len() == slots.len() || names.windows(2).all(|pair| pair[0] == pair[1])
            }
        }
    }
}
