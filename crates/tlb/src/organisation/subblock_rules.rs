//! The rules that distinguish one subblock organisation from another.

use super::compatibility::SharedFields;
use broadleaf_units::PageSize;

/// The existing entries that a page can join (Talluri 1995, section 4.3 and appendix G).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JoinCheck {
    /// Each entry of the block.
    Full,
    /// The first entry of the block alone.
    FirstTag,
    /// None.
    Never,
}

/// The way in which a structure loads pages of a block that has an entry already, if it preloads
/// (Talluri 1995, section 4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SubblockMisses {
    /// The entry is dropped, and the block is preloaded anew.
    Demap,
    /// The page alone is loaded.
    LoadPage,
}

/// What distinguishes one subblock organisation from another.
#[derive(Clone, Copy, Debug)]
pub(super) struct SubblockRules {
    /// The size of a block.
    pub(super) block: PageSize,
    /// True if each page size has blocks of its own, of equally many pages (Talluri 1995, appendix
    /// F). Otherwise a larger page fills the subblocks that it covers.
    pub(super) own_blocks: bool,
    pub(super) shared: SharedFields,
    pub(super) preload: bool,
    pub(super) check: JoinCheck,
    pub(super) again: SubblockMisses,
}
