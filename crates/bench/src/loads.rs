//! The fewest loads of a replay of random updates: for each visit, the state of its block and its
//! set of the second-level TLB.

use broadleaf_trace::Visit;

/// The state of a block: its resident pages and its dirty pages.
#[derive(Clone, Copy)]
struct BlockBits {
    resident: [u64; 8],
    dirty: [u64; 8],
}

/// The number of sets of Skylake's second level.
const SETS: usize = 128;
/// The number of ways of these sets.
const WAYS: usize = 12;

/// The state of one address space and of one TLB. It never changes.
pub struct LoadState {
    blocks: Vec<BlockBits>,
    sets: Vec<[u64; WAYS]>,
}

impl LoadState {
    /// Creates the state of `pages` pages from number 0 on, rounded up to a power of two blocks.
    /// All pages are resident, none is dirty, and none is in the TLB.
    pub fn new(pages: u64) -> Self {
        let blocks = pages.div_ceil(512).next_power_of_two() as usize;
        // Opaque, so that the compiler does not see that all blocks are equal.
        let block = std::hint::black_box(BlockBits {
            resident: [u64::MAX; 8],
            dirty: [0; 8],
        });
        Self {
            blocks: vec![block; blocks],
            sets: vec![std::hint::black_box([u64::MAX; WAYS]); SETS],
        }
    }

    /// Loads the state of a page. Returns 1 if the page is resident, clean and not in the TLB,
    /// which is always true.
    #[inline]
    fn load(&self, page: u64) -> u64 {
        let block = &self.blocks[(page / 512) as usize & (self.blocks.len() - 1)];
        let (word, bit) = ((page / 64 % 8) as usize, page % 64);
        let clean = (block.resident[word] & !block.dirty[word]) >> bit & 1;
        let set = &self.sets[((page ^ (page / 128)) % SETS as u64) as usize];
        let present = set.iter().filter(|entry| **entry == page).count() as u64;
        clean - present
    }

    /// Loads the state for visits in page grain. Returns the number of visits.
    pub fn visits(&self, visits: &[Visit]) -> u64 {
        visits.iter().map(|visit| self.load(visit.unit)).sum()
    }

    /// Loads the state for pages from a list in memory. Returns the number of pages.
    pub fn pages(&self, pages: &[u32]) -> u64 {
        pages.iter().map(|page| self.load(u64::from(*page))).sum()
    }
}
