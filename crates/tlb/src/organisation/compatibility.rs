//! Compatibility: the pages that may share one entry of a subblock TLB (Talluri 1995, chapter 1).

use crate::Translation;
use broadleaf_units::{AlignedRun, PageNumber};

/// The fields of an entry that its pages share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SharedFields {
    pub(super) frames: SharedFrames,
    /// True if the pages share access rights, and the modified bit if that is an attribute.
    pub(super) attributes: bool,
    pub(super) modified: ModifiedBits,
    pub(super) valid: ValidBits,
}

/// The bits of the frame number that the pages of an entry share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SharedFrames {
    /// None: each page has a frame number of its own.
    None,
    /// All but the lowest, which a page has in common with its frame: properly placed pages.
    Placed,
    /// The high bits: the frames lie anywhere in one aligned block of frames.
    HighBits,
}

/// The modified bits of an entry (Talluri 1995, chapter 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModifiedBits {
    /// One for each page.
    Page,
    /// One for the entry, an attribute: clean and modified pages do not share entries.
    Attribute,
    /// One for the entry: the first store marks all its pages.
    Block,
}

/// The sets of pages that the valid bits of an entry can express.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValidBits {
    /// Any set.
    Vector,
    /// Pages in a row: the first and the last are stored.
    Run,
    /// All pages of the block, or one page of any size.
    All,
}

/// The pages of an entry: for each subblock, the translation that covers it.
pub(super) type Subblocks = [Option<Translation>];

impl SharedFields {
    /// Returns true if a page can share an entry for `run` with any other page.
    pub(super) fn can_share(&self, run: AlignedRun, page: PageNumber, of: &Translation) -> bool {
        match self.frames {
            SharedFrames::None => true,
            SharedFrames::Placed => placed_block(run, page, of).is_some(),
            SharedFrames::HighBits => of.frame.is_some(),
        }
    }

    /// Returns true if two pages can share an entry for `run`. Each is given with the first page of
    /// its subblock.
    pub(super) fn are_compatible(
        &self,
        run: AlignedRun,
        (page, new): (PageNumber, &Translation),
        (of_other, other): (PageNumber, &Translation),
    ) -> bool {
        let frames = match self.frames {
            SharedFrames::None => true,
            SharedFrames::Placed => {
                let block = placed_block(run, page, new);
                block.is_some() && block == placed_block(run, of_other, other)
            }
            SharedFrames::HighBits => {
                let block = |page, of: &Translation| {
                    Some(of.frame_of(page)? >> run.pages().trailing_zeros())
                };
                block(page, new).is_some() && block(page, new) == block(of_other, other)
            }
        };
        let attributes = !self.attributes || new.rights == other.rights;
        let modified = self.modified != ModifiedBits::Attribute || new.modified == other.modified;
        frames && attributes && modified
    }

    /// Returns true if the valid bits can express the pages of an entry and one more.
    pub(super) fn can_add(&self, pages: &Subblocks, at: usize) -> bool {
        let is_used =
            |at: Option<usize>| at.and_then(|at| pages.get(at)).is_some_and(Option::is_some);
        match self.valid {
            ValidBits::Vector | ValidBits::All => true,
            ValidBits::Run => is_used(at.checked_sub(1)) || is_used(Some(at + 1)),
        }
    }
}

/// The first frame of the aligned block of frames in which a page has the same place as in its
/// block of pages. `None` if the page is not properly placed, or has no frame.
pub(super) fn placed_block(run: AlignedRun, page: PageNumber, of: &Translation) -> Option<u64> {
    let block = of.frame_of(page)?.checked_sub(page.0 - run.first.0)?;
    // A run has a power of two of pages.
    (block & (run.pages() - 1) == 0).then_some(block)
}
