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
    /// All pages of the block, or one.
    All,
}

/// The pages of an entry: for each subblock, the translation that covers it.
pub(super) type Subblocks = [Option<Translation>];

impl SharedFields {
    /// Returns true if a page can join the pages of an entry for `run`. `page` is the first page of
    /// the subblock `at`.
    pub(super) fn may_join(
        &self,
        run: AlignedRun,
        pages: &Subblocks,
        (at, page): (usize, PageNumber),
        new: &Translation,
    ) -> bool {
        let step = run.pages() / pages.len() as u64;
        let mut used = (0_u64..).zip(pages);
        let Some((number, other)) = used.find_map(|(at, found)| Some((at, found.as_ref()?))) else {
            return true;
        };
        let of_other = PageNumber(run.first.0 + number * step);
        let frames = match self.frames {
            SharedFrames::None => true,
            SharedFrames::Placed => {
                let block = placed_block(run, page, new);
                block.is_some() && block == placed_block(run, of_other, other)
            }
            SharedFrames::HighBits => {
                let block = |page, of: &Translation| Some(of.frame_of(page)? / run.pages());
                block(page, new).is_some() && block(page, new) == block(of_other, other)
            }
        };
        let is_clean_as = |other: &Translation| new.modified == other.modified;
        let attributes = !self.attributes || new.rights == other.rights;
        let modified = self.modified != ModifiedBits::Attribute || is_clean_as(other);
        frames && attributes && modified && self.can_add(pages, at)
    }

    /// Returns true if the valid bits can express the pages of an entry and one more.
    fn can_add(&self, pages: &Subblocks, at: usize) -> bool {
        let is_used =
            |at: Option<usize>| at.and_then(|at| pages.get(at)).is_some_and(Option::is_some);
        match self.valid {
            ValidBits::Vector | ValidBits::All => true,
            ValidBits::Run => {
                is_used(Some(at)) || is_used(at.checked_sub(1)) || is_used(Some(at + 1))
            }
        }
    }
}

/// The first frame of the aligned block of frames in which a page has the same place as in its
/// block of pages. `None` if the page is not properly placed, or has no frame.
pub(super) fn placed_block(run: AlignedRun, page: PageNumber, of: &Translation) -> Option<u64> {
    let block = of.frame_of(page)?.checked_sub(page.0 - run.first.0)?;
    block.is_multiple_of(run.pages()).then_some(block)
}
