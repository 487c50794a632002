//! Entries of TLBs: 32 bits that name a base page or a superpage.

use broadleaf_tlb::set;

/// No entry.
pub(super) const EMPTY: u32 = <u32 as set::SetEntry>::EMPTY;
/// Marks an entry of a superpage.
pub(super) const SUPERPAGE: u32 = 1 << 31;
/// The number of bits for a page's offset in its block, in the entry of a base page.
pub(super) const OFFSET_BITS: u32 = 9;

/// The name of a base page and of the block around it, from which TLBs make entries.
///
/// The host numbers the blocks of all address spaces together. So an entry has 32 bits and needs no
/// tag of its address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageId(u32);

impl PageId {
    /// The greatest number of distinct blocks: 8 TiB of them.
    pub(crate) const MOST_BLOCKS: usize = 1 << (31 - OFFSET_BITS);

    /// The base page at `offset` of the block of that number, which is below
    /// [`PageId::MOST_BLOCKS`].
    #[inline]
    pub(crate) const fn new(block: u32, offset: u16) -> Self {
        Self((block << OFFSET_BITS | offset as u32) & !SUPERPAGE)
    }

    /// The block of the page.
    #[inline]
    pub(crate) const fn block(self) -> u32 {
        self.0 >> OFFSET_BITS
    }

    /// The offset of the page in its block.
    #[inline]
    pub(crate) const fn offset(self) -> u16 {
        (self.0 & ((1 << OFFSET_BITS) - 1)) as u16
    }

    #[inline]
    pub(super) const fn entry(self, size: Size) -> u32 {
        match size {
            Size::Base => self.0,
            Size::Superpage => SUPERPAGE | self.block(),
        }
    }
}

/// The page that an entry translates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// The base page at this offset of the block.
    Base(u32, u16),
    /// The block, which is a superpage.
    Superpage(u32),
}

impl Entry {
    pub(super) const fn of(entry: u32) -> Self {
        if entry & SUPERPAGE == 0 {
            Self::Base(
                entry >> OFFSET_BITS,
                (entry & ((1 << OFFSET_BITS) - 1)) as u16,
            )
        } else {
            Self::Superpage(entry & !SUPERPAGE)
        }
    }
}

/// The page sizes that the TLBs distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// A base page of 4 KiB.
    Base,
    /// A superpage of 2 MiB.
    Superpage,
}
