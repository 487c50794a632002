//! An entry of a cache: the number of a line and its state, in one word.

/// An entry of a cache. The word 0 is an unused entry.
///
/// The low byte is the state. Bit 0 is set in used entries, and bit 1 in modified lines. Bit 2 is
/// set in lines that no other core's private caches hold. Bits 4 to 7 are the core that loaded the
/// line. The number of the line fills the other bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineEntry(u64);

const USED: u64 = 1;
const MODIFIED: u64 = 2;
const ALONE: u64 = 4;
const CORE_SHIFT: u32 = 4;
const STATE_BITS: u32 = 8;
const CORE: u64 = 0xf << CORE_SHIFT;
/// The bits that differ between lines.
const KEY: u64 = !(CORE | MODIFIED | ALONE | 8);

impl LineEntry {
    /// An entry that nothing uses.
    pub(crate) const UNUSED: Self = Self(0);

    /// A line that a core loads, unmodified.
    #[inline]
    pub(crate) const fn new(line: u64, core: usize) -> Self {
        Self(line << STATE_BITS | (core as u64) << CORE_SHIFT | USED)
    }

    /// The bits of entries that hold this line.
    #[inline]
    pub(crate) const fn key(line: u64) -> u64 {
        debug_assert!(
            line >> (u64::BITS - STATE_BITS) == 0,
            "an address that is too large"
        );
        line << STATE_BITS | USED
    }

    #[inline]
    pub(crate) const fn is_of(self, key: u64) -> bool {
        self.0 & KEY == key
    }

    #[inline]
    pub(crate) const fn is_used(self) -> bool {
        self.0 != 0
    }

    /// The number of the line: its address without the bits inside the line.
    #[inline]
    pub const fn line(self) -> u64 {
        self.0 >> STATE_BITS
    }

    /// The core that loaded the line.
    #[inline]
    pub const fn core(self) -> usize {
        ((self.0 & CORE) >> CORE_SHIFT) as usize
    }

    /// Returns true if the line was stored to since it was loaded.
    #[inline]
    pub const fn is_modified(self) -> bool {
        self.0 & MODIFIED != 0
    }

    /// Returns true if no private cache of another core holds the line.
    #[inline]
    pub const fn is_alone(self) -> bool {
        self.0 & ALONE != 0
    }

    #[inline]
    pub(crate) const fn modified_if(self, modified: bool) -> Self {
        Self(self.0 | (modified as u64) << 1)
    }

    #[inline]
    pub(crate) const fn alone_if(self, alone: bool) -> Self {
        Self(self.0 & !ALONE | (alone as u64) << 2)
    }
}
