//! The page-table entry of one base page.

use super::sparse::SparseEntry;
use crate::frames::Frame;

/// The page-table entry of one base page: its frame, its flags, and the size of the page that maps
/// it. Zero is a page that was never present.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pte(u64);

/// The number of bits of a frame's number: 4 PiB of 4 KiB frames.
const FRAME_BITS: u32 = 40;
const LEVEL_SHIFT: u32 = 60;
/// The share of a scattered superpage: one less than its number in the tree of shares.
const SHARE_SHIFT: u32 = 53;
const SHARE_BITS: u64 = 0x7f << SHARE_SHIFT;

impl Pte {
    /// A frame, or the page of zeroes, is mapped there.
    pub(crate) const PRESENT: u64 = 1 << 40;
    /// The content is in the swap.
    pub(crate) const SWAPPED: u64 = 1 << 41;
    /// The program referenced it since it became resident.
    pub(crate) const USED: u64 = 1 << 42;
    /// The program stored to it since it became resident.
    pub(crate) const DIRTY: u64 = 1 << 43;
    /// The reference bit: the program referenced the page since a daemon last cleared the bit.
    pub(crate) const REFERENCED: u64 = 1 << 44;
    /// A store faults although the mapping allows it: the frame is shared and has to be copied, or
    /// is the page of zeroes.
    pub(crate) const PROTECTED: u64 = 1 << 45;
    /// The entry maps the shared page of zeroes, and has no frame.
    pub(crate) const ZERO: u64 = 1 << 46;
    /// Its frame belongs to a file.
    pub(crate) const OF_FILE: u64 = 1 << 47;
    /// The page may hold something other than zeroes: it was stored to, came from a file, or was
    /// found in memory.
    pub(crate) const CONTENT: u64 = 1 << 48;
    /// Another place uses its frame too.
    pub(crate) const SHARED: u64 = 1 << 49;
    /// A promotion read it from a file, and nothing else did.
    pub(crate) const READ: u64 = 1 << 50;
    /// The content differs from the file or the swap.
    pub(crate) const UNSAVED: u64 = 1 << 51;
    /// A promotion filled it before anything was counted.
    pub(crate) const FILLED_BEFORE: u64 = 1 << 52;

    /// The flags that are set if a load changes nothing.
    const LOADED: u64 = Self::PRESENT | Self::USED | Self::REFERENCED;
    /// The flags that are set if a store changes nothing.
    const STORED: u64 = Self::LOADED | Self::DIRTY | Self::UNSAVED;
    /// Of which flags, and what these have to be: for a load, and for a store.
    const SETTLED: [(u64, u64); 2] = [
        (Self::LOADED, Self::LOADED),
        (Self::STORED | Self::PROTECTED, Self::STORED),
    ];

    pub(crate) const NONE: Self = Self(0);

    pub(crate) const fn of(frame: Frame, flags: u64) -> Self {
        debug_assert!(frame.0 >> FRAME_BITS == 0);
        Self(frame.0 | flags)
    }

    #[inline]
    pub(crate) const fn frame(self) -> Frame {
        Frame(self.0 & ((1 << FRAME_BITS) - 1))
    }

    /// The entry with another frame.
    pub(crate) const fn moved_to(self, frame: Frame) -> Self {
        Self(self.0 & !((1 << FRAME_BITS) - 1) | frame.0)
    }

    /// Returns true if all these flags are set.
    #[inline]
    pub(crate) const fn has(self, flags: u64) -> bool {
        self.0 & flags == flags
    }

    pub(crate) const fn with(self, flags: u64) -> Self {
        Self(self.0 | flags)
    }

    pub(crate) const fn without(self, flags: u64) -> Self {
        Self(self.0 & !flags)
    }

    /// The number of the size of the page that maps it, 0 for a base page.
    #[inline]
    pub(crate) const fn level(self) -> usize {
        (self.0 >> LEVEL_SHIFT) as usize
    }

    /// The entry as part of a page of a level whose frames follow one another.
    pub(crate) const fn at_level(self, level: usize) -> Self {
        let rest = self.0 & !(0xf << LEVEL_SHIFT | SHARE_BITS);
        Self(rest | (level as u64) << LEVEL_SHIFT)
    }

    /// The number of the share of a scattered superpage, in the tree of shares. 1 is the root: the
    /// frames follow one another.
    pub(crate) const fn share(self) -> u8 {
        ((self.0 & SHARE_BITS) >> SHARE_SHIFT) as u8 + 1
    }

    /// The entry as part of a superpage that lies in the share of this number, which is not 0.
    pub(crate) const fn in_share(self, number: u8) -> Self {
        Self(self.0 & !SHARE_BITS | (number as u64 - 1) << SHARE_SHIFT)
    }

    /// Returns true for each way in which a counted promotion filled the page, if the program has
    /// not referenced it: by zeroing, and by reading from a file.
    pub(crate) const fn filled(self) -> (bool, bool) {
        let unused = self.0 & (Self::USED | Self::FILLED_BEFORE) == 0;
        let read = self.has(Self::READ);
        (unused && !read && !self.has(Self::CONTENT), unused && read)
    }

    #[inline]
    pub(crate) const fn is_present(self) -> bool {
        self.has(Self::PRESENT)
    }

    /// Returns true if the entry maps a frame.
    #[inline]
    pub(crate) const fn has_frame(self) -> bool {
        self.0 & (Self::PRESENT | Self::ZERO) == Self::PRESENT
    }

    /// The part that page tables of a machine hold: the frame, the level, the share, and whether
    /// the page is mapped.
    pub(crate) const fn mapping(self) -> u64 {
        match self.is_present() {
            true => {
                self.0
                    & (((1 << FRAME_BITS) - 1)
                        | Self::PRESENT
                        | Self::ZERO
                        | SHARE_BITS
                        | (0xf << LEVEL_SHIFT))
            }
            false => 0,
        }
    }

    /// Returns true if stores to the page go to a file.
    pub(crate) const fn is_shared_file(self) -> bool {
        self.0 & (Self::OF_FILE | Self::PROTECTED) == Self::OF_FILE
    }

    /// Returns true if a reference that leaves the other entry as it is leaves this one, too.
    pub(crate) const fn is_settled_as(self, other: Self) -> bool {
        let load = self.is_settled(false) | !other.is_settled(false);
        let store = self.is_settled(true) | !other.is_settled(true);
        load & store
    }

    /// Returns true if a reference changes nothing.
    #[inline]
    pub(crate) const fn is_settled(self, store: bool) -> bool {
        let (of, settled) = Self::SETTLED[store as usize];
        self.0 & of == settled
    }
}

impl SparseEntry for Pte {
    const NONE: Self = Self::NONE;

    fn plus(self, entries: u64) -> Self {
        if self.has_frame() {
            self.moved_to(Frame(self.frame().0 + entries))
        } else {
            self
        }
    }

    fn minus(self, entries: u64) -> Option<Self> {
        if !self.has_frame() {
            return Some(self);
        }
        let frame = self.frame().0.checked_sub(entries)?;
        Some(self.moved_to(Frame(frame)))
    }
}
