//! How full the blocks of a process are.

use crate::seen::{BLOCK_BYTES, Behind, PAGES, Pages};

/// Blocks by what stands behind them.
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
    /// All of them.
    pub const fn total(&self) -> u64 {
        self.anonymous + self.shmem + self.file
    }

    const fn count(&mut self, behind: Behind) {
        match behind {
            Behind::Anonymous => self.anonymous += 1,
            Behind::Shmem => self.shmem += 1,
            Behind::File => self.file += 1,
            Behind::Other => {}
        }
    }
}

/// How many resident base pages each bar counts, from and to.
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
    /// Those that are superpages.
    pub huge: Kinds,
    /// The others, by how many of their base pages are resident: an entry for each of [`BARS`].
    pub bars: [Kinds; BARS.len()],
}

impl Census {
    /// Counts them.
    pub fn of(pages: &Pages) -> Self {
        let mut census = Self::default();
        for (mapping, seen) in pages.mapped() {
            if seen.huge {
                census.huge.count(mapping.behind);
            } else if let Some(bar) = bar(seen.present.into()) {
                census.bars[bar].count(mapping.behind);
            }
        }
        census
    }

    /// All of them, superpages or not.
    pub fn blocks(&self) -> Kinds {
        let all = self.bars.iter().chain([&self.huge]);
        all.fold(Kinds::default(), |sum, kinds| Kinds {
            anonymous: sum.anonymous + kinds.anonymous,
            shmem: sum.shmem + kinds.shmem,
            file: sum.file + kinds.file,
        })
    }

    /// Bytes in superpages.
    pub const fn huge_bytes(&self) -> u64 {
        self.huge.total() * BLOCK_BYTES
    }
}

/// The bar that counts blocks of so many resident pages.
fn bar(present: u32) -> Option<usize> {
    BARS.iter()
        .position(|(from, to)| (*from..=*to).contains(&present))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BlockSeen, Mapping};

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
        let mapping = |first: u64, end: u64, behind| Mapping {
            start: first * BLOCK_BYTES,
            end: end * BLOCK_BYTES,
            behind,
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
        let pages = Pages {
            held: None,
            asked: None,
            mappings: vec![
                mapping(1, 4, Behind::Anonymous),
                mapping(4, 5, Behind::Other),
                mapping(8, 10, Behind::Shmem),
                mapping(10, 12, Behind::File),
            ],
            blocks: vec![
                block(1, 0, 0, true),
                block(2, 512, 0, false),
                // Zeroes that were read alone are no resident pages.
                block(3, 0, 512, false),
                block(4, 512, 0, false),
                // In no mapping at all.
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
