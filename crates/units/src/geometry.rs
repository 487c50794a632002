//! The page sizes of a machine. Callers pass a [`Geometry`] instead of assuming constants.

use crate::{BlockNumber, PageNumber, PageSize, VirtAddr};

/// A base-page size and a superpage size, with the arithmetic between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Geometry {
    base: PageSize,
    superpage: PageSize,
}

impl Geometry {
    /// 4 KiB base pages and 2 MiB superpages.
    pub const X86_64: Self = Self {
        base: PageSize::SIZE_4K,
        superpage: PageSize::SIZE_2M,
    };

    /// Returns a geometry of these sizes, or `None` if the superpage is not larger than the base
    /// page.
    pub const fn new(base: PageSize, superpage: PageSize) -> Option<Self> {
        if superpage.shift() > base.shift() {
            Some(Self { base, superpage })
        } else {
            None
        }
    }

    /// Returns the base-page size.
    pub const fn base(self) -> PageSize {
        self.base
    }

    /// Returns the superpage size.
    pub const fn superpage(self) -> PageSize {
        self.superpage
    }

    /// The number of base pages in a superpage.
    pub const fn pages_per_block(self) -> u64 {
        1 << (self.superpage.shift() - self.base.shift())
    }

    /// Returns the base page that contains `addr`.
    pub const fn page_of(self, addr: VirtAddr) -> PageNumber {
        PageNumber(addr.0 >> self.base.shift())
    }

    /// Returns the block that contains `page`.
    pub const fn block_of(self, page: PageNumber) -> BlockNumber {
        BlockNumber(page.0 >> (self.superpage.shift() - self.base.shift()))
    }

    /// The offset of `page` in its block, in base pages.
    pub const fn offset_in_block(self, page: PageNumber) -> usize {
        (page.0 & (self.pages_per_block() - 1)) as usize
    }

    /// Returns the first base page of `block`.
    pub const fn first_page(self, block: BlockNumber) -> PageNumber {
        PageNumber(block.0 << (self.superpage.shift() - self.base.shift()))
    }
}
