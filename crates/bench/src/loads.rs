//! The least that a replay of random updates has to load: for each visit the state of its block and its set of the second-level TLB.

use broadleaf_trace::Visit;

/// What is kept of a block: which of its pages are resident, and which of those are dirty.
#[derive(Clone, Copy)]
struct Block {
    resident: [u64; 8],
    dirty: [u64; 8],
}

/// Sets of the second level on Skylake.
const SETS: usize = 128;
/// Their ways.
const WAYS: usize = 12;

/// The state of one address space of a given size, and of one TLB. Nothing changes it.
pub struct State {
    blocks: Vec<Block>,
    sets: Vec<[u64; WAYS]>,
}

impl State {
    /// State of `pages` pages from number 0 on, rounded up to a power of two blocks: all resident, none dirty, none in the TLB.
    pub fn new(pages: u64) -> Self {
        let blocks = pages.div_ceil(512).next_power_of_two() as usize;
        // Opaque, so that no compiler sees that all are alike.
        let block = std::hint::black_box(Block {
            resident: [u64::MAX; 8],
            dirty: [0; 8],
        });
        Self {
            blocks: vec![block; blocks],
            sets: vec![std::hint::black_box([u64::MAX; WAYS]); SETS],
        }
    }

    /// Loads what belongs to a page, and answers 1 if it is resident, clean and not in the TLB: always, then.
    #[inline]
    fn load(&self, page: u64) -> u64 {
        let block = &self.blocks[(page / 512) as usize & (self.blocks.len() - 1)];
        let (word, bit) = ((page / 64 % 8) as usize, page % 64);
        let clean = (block.resident[word] & !block.dirty[word]) >> bit & 1;
        let set = &self.sets[((page ^ (page / 128)) % SETS as u64) as usize];
        let present = set.iter().filter(|entry| **entry == page).count() as u64;
        clean - present
    }

    /// For visits in page grain; how many were loaded.
    pub fn visits(&self, visits: &[Visit]) -> u64 {
        visits.iter().map(|visit| self.load(visit.unit)).sum()
    }

    /// For pages that stand in memory; how many were loaded.
    pub fn pages(&self, pages: &[u32]) -> u64 {
        pages.iter().map(|page| self.load(u64::from(*page))).sum()
    }
}
