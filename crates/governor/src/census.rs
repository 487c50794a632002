//! Counts the blocks of a process by the number of their resident pages.

use crate::seen::{BLOCK_BYTES, LiveBacking, LivePages, PAGES};

/// Numbers of blocks, by backing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds {
    /// Private memory that begins as zeroes.
    pub anonymous: u64,
    /// Memory that can be shared and has no file on a disk.
    pub shmem: u64,
    /// Files.
    pub file: u64,
}

impl Kinds {
    /// Returns the number of all blocks.
    pub const fn total(&self) -> u64 {
        self.anonymous + self.shmem + self.file
    }

    const fn count(&mut self, backing: LiveBacking) {
        match backing {
            LiveBacking::Anonymous => self.anonymous += 1,
            LiveBacking::Shmem => self.shmem += 1,
            LiveBacking::File => self.file += 1,
            LiveBacking::Other => {}
        }
    }
}

/// The bars of a histogram of blocks. Each bar counts blocks from the first to the second number of
/// resident base pages.
pub const BARS: [(u32, u32); 10] = [
    (1, 8),
    (9, 16),
    (17, 32),
    (33, 64),
    (65, 128),
    (129, 256),
    (257, 384),
    (385, 460),
    (461, PAGES - 1),
    (PAGES, PAGES),
];

/// The blocks of a process that lie wholly in one mapping and hold at least one resident page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Blocks that are superpages.
    pub huge: Kinds,
    /// Other blocks, by the number of their resident base pages, with an entry for each of
    /// [`BARS`].
    pub bars: [Kinds; BARS.len()],
}

impl Census {
    /// Counts the blocks of `pages`.
    pub fn of(pages: &LivePages) -> Self {
        let mut census = Self::default();
        for (mapping, seen) in pages.mapped() {
            if seen.huge {
                census.huge.count(mapping.backing);
            } else if let Some(bar) = bar(seen.present.into()) {
                census.bars[bar].count(mapping.backing);
            }
        }
        census
    }

    /// Returns the number of all blocks, superpages included.
    pub fn blocks(&self) -> Kinds {
        let all = self.bars.iter().chain([&self.huge]);
        all.fold(Kinds::default(), |sum, kinds| Kinds {
            anonymous: sum.anonymous + kinds.anonymous,
            shmem: sum.shmem + kinds.shmem,
            file: sum.file + kinds.file,
        })
    }

    /// Returns the number of bytes in superpages.
    pub const fn huge_bytes(&self) -> u64 {
        self.huge.total() * BLOCK_BYTES
    }
}

/// Returns the index of the bar for blocks with `present` resident pages.
fn bar(present: u32) -> Option<usize> {
    BARS.iter()
        .position(|(from, to)| (*from..=*to).contains(&present))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BlockSeen, LiveMapping};

    #[test]
    fn bars_meet_and_cover_every_population() {
        let mut next = 1;
        for (from, to) in BARS {
            assert_eq!(from, next);
            next = to + 1;
        }
        assert_eq!(next, PAGES + 1);
        assert_eq!((bar(0), bar(8), bar(9)), (None, Some(0), Some(1)));
        assert_eq!((bar(511), bar(512), bar(513)), (Some(8), Some(9), None));
    }

    #[test]
    fn each_block_is_counted_once_by_kind() {
        let mapping = |first: u64, end: u64, backing| LiveMapping {
            start: first * BLOCK_BYTES,
            end: end * BLOCK_BYTES,
            backing,
            writable: true,
            congruent: true,
            inode: 0,
            offset: 0,
            name: String::new(),
        };
        let block = |block, present, zero, huge| BlockSeen {
            block,
            present,
            zero,
            swapped: 0,
            huge,
        };
        let pages = LivePages {
            held: None,
            asked: None,
            used: None,
            mappings: vec![
                mapping(1, 4, LiveBacking::Anonymous),
                mapping(4, 5, LiveBacking::Other),
                mapping(8, 10, LiveBacking::Shmem),
                mapping(10, 12, LiveBacking::File),
            ],
            blocks: vec![
                block(1, 0, 0, true),
                block(2, 512, 0, false),
                // Pages of zeroes that were only read are not resident pages.
                block(3, 0, 512, false),
                block(4, 512, 0, false),
                // This block lies in no mapping.
                block(6, 512, 0, false),
                block(8, 9, 0, false),
                block(10, 1, 0, false),
                block(11, 0, 0, true),
            ],
        };
        let census = Census::of(&pages);
        let kinds = |anonymous, shmem, file| Kinds {
            anonymous,
            shmem,
            file,
        };
        assert_eq!(census.huge, kinds(1, 0, 1));
        assert_eq!(census.blocks(), kinds(2, 1, 2));
        assert_eq!(census.bars[0], kinds(0, 0, 1));
        assert_eq!(census.bars[1], kinds(0, 1, 0));
        assert_eq!(census.bars[9], kinds(1, 0, 0));
        assert_eq!(census.huge_bytes(), 2 * BLOCK_BYTES);
    }
}
