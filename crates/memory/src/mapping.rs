//! Mappings: address ranges with their rights and their backing.

use crate::{GEOMETRY, MemoryId, Pages};
use broadleaf_units::{BackingKind, FileId, PageSize, Rights};

/// The backing of a mapping: the source of its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// Private memory that begins as zeroes.
    Anonymous,
    /// The heap, which grows upwards.
    Heap,
    /// A stack, which grows downwards.
    Stack,
    /// Memory shared between processes that begins as zeroes.
    SharedMemory {
        /// The number of the memory ([`crate::AddressSpaces::shared_memory`]).
        memory: MemoryId,
        /// The offset in the memory of the mapping's first byte.
        offset: u64,
    },
    /// A file's pages.
    File {
        /// The file.
        file: FileId,
        /// The offset in the file of the mapping's first byte.
        offset: u64,
    },
    /// Pages that the kernel provides. They are never in a superpage.
    Kernel,
}

impl Backing {
    /// The kind of backing that policies see.
    pub const fn kind(self) -> BackingKind {
        match self {
            Self::File { .. } => BackingKind::File,
            Self::SharedMemory { .. } => BackingKind::SharedMemory,
            Self::Anonymous | Self::Heap | Self::Stack | Self::Kernel => BackingKind::Anonymous,
        }
    }

    /// The backing of the page `pages` pages further up.
    fn advanced(self, pages: u64) -> Self {
        let bytes = pages << GEOMETRY.base().shift();
        match self {
            Self::File { file, offset } => Self::File {
                file,
                offset: offset.wrapping_add(bytes),
            },
            Self::SharedMemory { memory, offset } => Self::SharedMemory {
                memory,
                offset: offset.wrapping_add(bytes),
            },
            other => other,
        }
    }

    /// The number of the shared memory, if the backing is one.
    pub(crate) const fn memory(self) -> Option<MemoryId> {
        match self {
            Self::SharedMemory { memory, .. } => Some(memory),
            _ => None,
        }
    }
}

/// A mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The range of pages.
    pub pages: Pages,
    /// The access rights.
    pub rights: Rights,
    /// True if stores are shared with other processes.
    pub shared: bool,
    /// The backing.
    pub backing: Backing,
}

impl Mapping {
    /// The part of the mapping in a range that meets the mapping.
    pub(crate) fn part(&self, pages: Pages) -> Self {
        let pages = self.pages.common(pages);
        Self {
            pages,
            backing: self.backing.advanced(pages.start - self.pages.start),
            ..*self
        }
    }

    /// The mapping at another place, with its backing unchanged.
    pub(crate) fn moved_to(&self, start: u64) -> Self {
        Self {
            pages: Pages {
                start,
                end: start + self.pages.len(),
            },
            ..*self
        }
    }

    /// Returns true if the other mapping begins where this one ends and continues this one, so that
    /// both count as one mapping. Stacks and shared memory have no name in a trace, so neither is
    /// ever continued.
    pub(crate) fn is_continued_by(&self, other: &Self) -> bool {
        self.rights == other.rights
            && self.shared == other.shared
            && !matches!(self.backing, Backing::Stack | Backing::SharedMemory { .. })
            && self.goes_on_with(other)
    }

    /// Returns true if the other mapping begins where this one ends, in addresses and in backing.
    pub(crate) fn goes_on_with(&self, other: &Self) -> bool {
        self.pages.end == other.pages.start
            && self.backing.advanced(self.pages.len()) == other.backing
    }

    /// Returns true if all of a block could be one superpage: the mapping spans the block, and the
    /// mapped file is aligned and reaches the block's end. `file_size` is the size of that file in
    /// bytes. A file's last page counts as a whole page of size `base`.
    pub(crate) fn can_hold(&self, block: Pages, file_size: Option<u64>, base: PageSize) -> bool {
        if !self.pages.covers(block) {
            return false;
        }
        let superpage = block.len() << GEOMETRY.base().shift();
        match self.backing.advanced(block.start - self.pages.start) {
            Backing::Kernel => false,
            Backing::File { offset, .. } => {
                let pages = |bytes: u64| bytes.div_ceil(base.bytes());
                let end = offset.checked_add(superpage);
                offset.is_multiple_of(superpage)
                    && (end.zip(file_size)).is_some_and(|(end, size)| pages(end) <= pages(size))
            }
            _ => true,
        }
    }

    /// Returns true if the mapping may grow into a block that reaches past its growing end. The
    /// growth is at most the mapping's present size, so that a small heap does not hold a large
    /// reservation. The block must lie inside the mapping at the other end.
    pub(crate) fn may_grow_into(&self, block: Pages) -> bool {
        let beyond = match self.backing {
            Backing::Heap if self.pages.start <= block.start => {
                block.end.saturating_sub(self.pages.end)
            }
            Backing::Stack if block.end <= self.pages.end => {
                self.pages.start.saturating_sub(block.start)
            }
            _ => return false,
        };
        beyond <= self.pages.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: Pages = Pages {
        start: 1024,
        end: 1536,
    };

    const BASE: PageSize = PageSize::SIZE_4K;

    fn mapping(start: u64, end: u64, backing: Backing) -> Mapping {
        Mapping {
            pages: Pages { start, end },
            rights: Rights::READ_WRITE,
            shared: false,
            backing,
        }
    }

    fn file(offset: u64) -> Backing {
        Backing::File {
            file: FileId(0),
            offset,
        }
    }

    #[test]
    fn a_block_needs_every_page() {
        assert!(mapping(1024, 1536, Backing::Anonymous).can_hold(BLOCK, None, BASE));
        assert!(!mapping(1025, 1536, Backing::Anonymous).can_hold(BLOCK, None, BASE));
        assert!(!mapping(1024, 1535, Backing::Anonymous).can_hold(BLOCK, None, BASE));
        assert!(!mapping(0, 4096, Backing::Kernel).can_hold(BLOCK, None, BASE));
    }

    #[test]
    fn a_file_has_to_be_aligned_and_long_enough() {
        const MIB: u64 = 1 << 20;
        // The mapping starts one block below, so the block's first byte is byte 2 MiB of the file.
        let whole = mapping(512, 1536, file(0));
        assert!(whole.can_hold(BLOCK, Some(4 * MIB), BASE));
        // The last page of a file may be filled in part.
        assert!(whole.can_hold(BLOCK, Some(4 * MIB - 1), BASE));
        assert!(whole.can_hold(BLOCK, Some(4 * MIB - 4095), BASE));
        assert!(!whole.can_hold(BLOCK, Some(4 * MIB - 4096), BASE));
        let large = PageSize::from_shift(16).unwrap();
        assert!(whole.can_hold(BLOCK, Some(4 * MIB - 65535), large));
        assert!(!whole.can_hold(BLOCK, Some(4 * MIB - 65536), large));
        assert!(whole.can_hold(BLOCK, Some(u64::MAX), BASE));
        assert!(!whole.can_hold(BLOCK, None, BASE));
        assert!(!mapping(512, 1536, file(4096)).can_hold(BLOCK, Some(8 * MIB), BASE));
        assert!(!mapping(512, 1536, file(u64::MAX - 4095)).can_hold(BLOCK, Some(8 * MIB), BASE));
    }

    #[test]
    fn growing_mappings_reach_as_far_as_they_are_large() {
        assert!(mapping(1024, 1280, Backing::Heap).may_grow_into(BLOCK));
        assert!(!mapping(1024, 1279, Backing::Heap).may_grow_into(BLOCK));
        assert!(!mapping(1025, 1500, Backing::Heap).may_grow_into(BLOCK));
        assert!(mapping(1280, 1536, Backing::Stack).may_grow_into(BLOCK));
        assert!(!mapping(1281, 1536, Backing::Stack).may_grow_into(BLOCK));
        assert!(!mapping(1024, 1280, Backing::Anonymous).may_grow_into(BLOCK));
    }

    #[test]
    fn files_continue_where_they_left_off() {
        let (a, b) = (mapping(0, 10, file(0)), mapping(10, 20, file(40960)));
        assert!(a.is_continued_by(&b));
        assert!(!a.is_continued_by(&mapping(10, 20, file(0))));
        assert!(!a.is_continued_by(&Mapping { shared: true, ..b }));
        assert_eq!(a.part(Pages { start: 5, end: 10 }).backing, file(20480));
    }
}
