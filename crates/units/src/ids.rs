//! Identifiers of what a trace numbers.

/// An address space: one process between two `exec` calls. A trace numbers address spaces from 0,
/// in order of appearance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpaceId(pub u32);

/// A thread of one address space. The recorder assigns the number, which is unique inside its space
/// at any one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(pub u32);

/// A core of the machine on which a trace was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CoreId(pub u32);

/// A mapped file. A trace numbers files from 0, in order of appearance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// A place in a program that makes memory. Each address space of a trace numbers its sites.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteId(pub u32);

/// The tag by which a TLB distinguishes address spaces: an ASID, or a PCID on x86-64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Asid(u16);

impl Asid {
    /// The number of bits of a tag.
    pub const BITS: u32 = 15;
    /// The number of different tags.
    pub const COUNT: usize = 1 << Self::BITS;
    /// The tag of number 0.
    pub const ZERO: Self = Self(0);

    /// The tag of that number. `None` if the number is [`Asid::COUNT`] or more.
    pub const fn new(number: usize) -> Option<Self> {
        if number < Self::COUNT {
            Some(Self(number as u16))
        } else {
            None
        }
    }

    /// The tag in the low bits of a number.
    #[inline]
    pub const fn wrapping(number: u16) -> Self {
        Self(number & (Self::COUNT - 1) as u16)
    }

    /// The tag of the page table's own entries of the space, which share a TLB with translations.
    /// No space has that tag.
    #[inline]
    pub const fn of_tables(self) -> Self {
        Self(self.0 | 1 << Self::BITS)
    }

    /// Returns true if the tag is that of page table entries of a space.
    #[inline]
    pub const fn is_of_tables(self) -> bool {
        self.0 >> Self::BITS == 1
    }

    /// Its number.
    #[inline]
    pub const fn number(self) -> u16 {
        self.0
    }
}
