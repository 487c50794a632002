//! Rules of placement by colour.

use broadleaf_units::{PageSize, WantedShares};

/// A rule that gives each page a frame of a certain colour: the index bits of a last-level cache
/// above the offset in a page (Chen 2014, section I).
///
/// Each owner has a share of the colours (static division). If no frame of a page's colour is free,
/// the page gets another colour of its owner's share. If the share has no free frame, the page gets
/// any frame. A host counts both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColourRule {
    /// The size of a way of the cache: it has the sets of one page of each colour.
    pub way: PageSize,
    /// The shares of the owners. An owner after the last one begins again with the first share.
    pub shares: WantedShares,
    /// The owners.
    pub owner: ColourOwner,
    /// The order of the colours that an owner's pages get.
    pub order: ColourOrder,
    /// True if superpages of 2 MiB are scattered: they lie in their owner's share of consecutive
    /// physical superpages. Otherwise superpages have all colours.
    pub scatters: bool,
}

/// The owner of a share of colours. A host numbers the owners in the order of their first fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColourOwner {
    /// The process that faults: its address space.
    Process,
    /// The core that faults. The trace has to say which core runs.
    Core,
    /// The block of 2 MiB that the page lies in.
    Region,
}

/// The order of the colours that an owner's pages get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColourOrder {
    /// By the page's number: neighbours in the address space have neighbouring colours.
    ByPage,
    /// By the number of pages that were placed, of all owners together.
    RoundRobin,
    /// By the number of pages that were placed of the same owner.
    BinHopping,
}
