//! Addresses, page numbers and page sizes.

/// A virtual address in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VirtAddr(pub u64);

/// The number of a base page: a virtual address divided by the base-page size of the geometry in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageNumber(pub u64);

/// The number of a superpage-aligned block: a virtual address divided by the superpage size of the geometry in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockNumber(pub u64);

/// A page size: a power of two of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageSize {
    shift: u8,
}

impl PageSize {
    /// 4 KiB, the base page of x86-64.
    pub const SIZE_4K: Self = Self { shift: 12 };
    /// 2 MiB, the superpage of x86-64 that this project's first models use.
    pub const SIZE_2M: Self = Self { shift: 21 };

    /// The page size of `1 << shift` bytes, or `None` where that is more than an address can express.
    pub const fn from_shift(shift: u8) -> Option<Self> {
        if shift < 64 { Some(Self { shift }) } else { None }
    }

    /// The page size of `bytes` bytes, or `None` where that is not a power of two.
    pub const fn from_bytes(bytes: u64) -> Option<Self> {
        if bytes.is_power_of_two() { Some(Self { shift: bytes.trailing_zeros() as u8 }) } else { None }
    }

    /// How many low address bits lie inside a page.
    pub const fn shift(self) -> u8 {
        self.shift
    }

    /// The size in bytes.
    pub const fn bytes(self) -> u64 {
        1 << self.shift
    }
}
