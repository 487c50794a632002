//! Events of whole systems: a kernel with all of its processes, as a processor sees them.

use broadleaf_units::{Rights, SpaceId, VirtAddr};

/// The entry of a page table that translates a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GuestLeaf {
    /// The first byte of the page. A page of 1 GiB is reported for each 2 MiB of it that is used.
    pub start: VirtAddr,
    /// The logarithm of the page's size in bytes: 12, 21 or 30.
    pub shift: u8,
    /// The physical address of the first byte.
    pub physical: u64,
    /// The access rights. Every leaf can be read.
    pub rights: Rights,
    /// True if programs may use the page.
    pub user: bool,
    /// True if the translation outlives a switch of spaces.
    pub global: bool,
}

/// Translations that a processor had to drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Invalidation {
    /// That of the page at this address, of any size.
    Page(VirtAddr),
    /// Those of one page. The recorder could not read its address.
    UnknownPage,
    /// All of the running space that are not global.
    Space,
    /// All of all spaces, global ones included.
    Everything,
}

/// A step of a page fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultStep {
    /// The processor raised the exception.
    Exception,
    /// The kernel's memory manager was asked for a page. Linux counts these as page faults.
    Handled,
}

/// A change that the recorder of a whole system saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SystemEvent {
    /// The following references to the lower half of the addresses belong to this space. Those to
    /// the upper half belong to space 0, the kernel's, whatever space runs.
    Space(SpaceId),
    /// The running space ended: the kernel released its page tables.
    SpaceEnd,
    /// The page table's entry at the first use of a page since its translation was invalidated, if
    /// the trace does not have it. Addresses of the upper half belong to space 0.
    Leaf(GuestLeaf),
    /// A processor dropped translations.
    Invalidate(Invalidation),
    /// A page fault.
    PageFault(FaultStep),
    /// The kernel runs from here on (true), or a program (false).
    Privilege(bool),
}

impl SystemEvent {
    /// The space of the kernel's addresses.
    pub const KERNEL: SpaceId = SpaceId(0);
}
