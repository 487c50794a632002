//! The modelled TLB, and the pages that are open because its first level holds them.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use broadleaf_tlb::{Design, Lookup, ReferenceKind, Tlb, TlbRequest, Translation, Walk};
use broadleaf_units::{AlignedRun, Asid, PageNumber, PageSize, Rights};

use super::counts::TrapCounts;

/// The modelled TLB of the program.
///
/// A page is open if a lookup of it would hit the first level. Replacement ignores hits
/// (`Replacement::ignores_hits`), so a program that uses open pages changes nothing. Frames are
/// those of a memory in which every page lies at its proper place: frame N holds page N.
#[derive(Debug)]
pub(super) struct TrapTlb {
    /// The empty TLB.
    empty: Tlb,
    tlb: Tlb,
    /// The page size that the system uses where it fits; 4 KiB if there are base pages alone.
    size: PageSize,
    /// For each block of that size that was referred to, whether it is one page.
    blocks: SizedBlocks,
    open: HashSet<u64, BuildHasherDefault<PageHasher>>,
    /// The translations that left a structure at the last miss.
    gone: Vec<Translation>,
    work: Doorwork,
    pub(super) counts: TrapCounts,
}

/// For each block of the system's page size that was referred to, whether it is one page.
type SizedBlocks = HashMap<u64, bool, BuildHasherDefault<PageHasher>>;

/// A hash of page numbers by one multiplication: each miss asks for several.
#[derive(Debug, Default)]
struct PageHasher(u64);

impl Hasher for PageHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    fn write_u64(&mut self, number: u64) {
        // 2^64 divided by the golden ratio. Tables take their bits from both ends.
        let product = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ (product >> 32);
    }
}

/// The pages that a miss opens and closes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Doorwork {
    pub(super) open: Vec<u64>,
    pub(super) close: Vec<u64>,
}

impl TrapTlb {
    /// An empty TLB of that design, under a system with pages of that size.
    pub(super) fn new(design: &Design, size: PageSize) -> Self {
        Self {
            empty: Tlb::new(design),
            tlb: Tlb::new(design),
            size,
            blocks: SizedBlocks::default(),
            open: HashSet::default(),
            gone: Vec::new(),
            work: Doorwork::default(),
            counts: TrapCounts::default(),
        }
    }

    /// Counts from zero with an empty TLB.
    pub(super) fn begin(&mut self) {
        self.tlb = self.empty.clone();
        self.open.clear();
        self.counts = TrapCounts::default();
    }

    /// The pages that are open, in order.
    pub(super) fn open(&self) -> Vec<u64> {
        self.open_within(0, u64::MAX)
    }

    /// The pages of a range that are open, in order.
    fn open_within(&self, first: u64, after: u64) -> Vec<u64> {
        let is_small = after.saturating_sub(first) <= self.open.len() as u64;
        let mut found: Vec<u64> = if is_small {
            let all = first..after;
            all.filter(|page| self.open.contains(page)).collect()
        } else {
            let all = self.open.iter().copied();
            all.filter(|page| (first..after).contains(page)).collect()
        };
        found.sort_unstable();
        found
    }

    /// Refers to a page that trapped. `is_mapped` says whether the run of pages is mapped as a
    /// whole with one protection, and `counts` whether a page can trap.
    pub(super) fn refer(
        &mut self,
        page: u64,
        is_store: bool,
        is_mapped: &dyn Fn(AlignedRun) -> bool,
        counts: &dyn Fn(u64) -> bool,
    ) -> &Doorwork {
        self.work.open.clear();
        self.work.close.clear();
        let size = self.size_of(page, is_mapped);
        if self.holds(page, size) {
            // Another thread loaded the translation first.
            self.open.insert(page);
            self.work.open.push(page);
            return &self.work;
        }
        let request = TlbRequest {
            tag: Asid::ZERO,
            page: PageNumber(page),
            kind: ReferenceKind::of_data(is_store),
        };
        let Self { tlb, gone, .. } = self;
        gone.clear();
        let found = tlb.access_displacing(&request, |translation| gone.push(*translation));
        match found {
            Lookup::First => {}
            Lookup::Second => self.counts.second_hits += 1,
            Lookup::Third => self.counts.third_hits += 1,
            Lookup::Miss => {
                self.counts.walks += 1;
                self.counts.superpage_walks += u64::from(size != PageSize::SIZE_4K);
                let (system, blocks) = (self.size, &self.blocks);
                let read = |page: PageNumber| {
                    let size = known_size(system, blocks, page.0);
                    counts(page.0).then(|| translation(page.0, size))
                };
                let walk = Walk {
                    request,
                    translation: translation(page, size),
                    read: &read,
                };
                tlb.load_displacing(&walk, |translation| gone.push(*translation));
            }
        }
        self.counts.first_misses += 1;
        self.counts.subblock_misses = self.tlb.counts().subblock_misses;
        self.find_work(page, size, counts);
        &self.work
    }

    /// Finds the pages to open and to close after a page was loaded and translations left.
    fn find_work(&mut self, page: u64, size: PageSize, counts: &dyn Fn(u64) -> bool) {
        for at in 0..self.gone.len() {
            let (first, after) = self.gone[at].pages();
            for page in first..after {
                let is_held = self.holds(page, self.size_without_asking(page));
                if !is_held && self.open.remove(&page) {
                    self.work.close.push(page);
                }
            }
        }
        // The entry may cover the page's neighbours.
        let (first, after) = self.tlb.disturbed(PageNumber(page), size);
        for page in first..after {
            let is_held = self.holds(page, self.size_without_asking(page));
            if is_held && counts(page) && self.open.insert(page) {
                self.work.open.push(page);
            }
        }
    }

    /// Forgets the translations of a range that was unmapped or protected. Returns the pages that
    /// were open.
    pub(super) fn forget(&mut self, first: u64, after: u64, is_unmapped: bool) -> Vec<u64> {
        let pages = after.saturating_sub(first);
        self.tlb
            .invalidate_range(Asid::ZERO, PageNumber(first), pages);
        if is_unmapped && self.size != PageSize::SIZE_4K {
            self.cut_blocks(first, after);
        }
        // A superpage may reach beyond the range.
        let (low, high) = self.around(first, after);
        let mut closed = Vec::new();
        for page in self.open_within(low, high) {
            if !self.holds(page, self.size_without_asking(page)) {
                self.open.remove(&page);
                closed.push(page);
            }
        }
        closed
    }

    /// Blocks that lose a part of their pages are base pages from now on. Blocks that lose all of
    /// them begin anew.
    fn cut_blocks(&mut self, first: u64, after: u64) {
        let pages = self.size.bytes() >> PageSize::SIZE_4K.shift();
        let shift = self.block_shift();
        self.blocks.retain(|block, is_one| {
            let start = block << shift;
            let (low, high) = (start.max(first), (start + pages).min(after));
            let lost = high.saturating_sub(low);
            *is_one &= lost == 0;
            lost < pages
        });
    }

    fn around(&self, first: u64, after: u64) -> (u64, u64) {
        let pages = 1 << self.block_shift();
        let low = first / pages * pages;
        (low, after.next_multiple_of(pages).max(low))
    }

    fn block_shift(&self) -> u32 {
        block_shift(self.size)
    }

    /// The size of the page around a base page. The first reference to a block decides: the block
    /// is one page if it is mapped as a whole.
    fn size_of(&mut self, page: u64, is_mapped: &dyn Fn(AlignedRun) -> bool) -> PageSize {
        if self.size == PageSize::SIZE_4K {
            return self.size;
        }
        let run = AlignedRun::around(PageNumber(page), self.size);
        let block = page >> self.block_shift();
        let is_one = *self.blocks.entry(block).or_insert_with(|| is_mapped(run));
        if is_one { self.size } else { PageSize::SIZE_4K }
    }

    fn size_without_asking(&self, page: u64) -> PageSize {
        known_size(self.size, &self.blocks, page)
    }

    /// Returns true if a lookup of the page would hit the first level.
    fn holds(&self, page: u64, size: PageSize) -> bool {
        self.tlb.holds_first(&translation(page, size))
    }
}

/// The size of the page around a base page, if the blocks of that size that were referred to are
/// these.
fn known_size(size: PageSize, blocks: &SizedBlocks, page: u64) -> PageSize {
    if size == PageSize::SIZE_4K {
        return size;
    }
    match blocks.get(&(page >> block_shift(size))) {
        Some(true) => size,
        _ => PageSize::SIZE_4K,
    }
}

fn block_shift(size: PageSize) -> u32 {
    u32::from(size.shift() - PageSize::SIZE_4K.shift())
}

/// The translation of the page of a size around a base page.
fn translation(page: u64, size: PageSize) -> Translation {
    let first = AlignedRun::around(PageNumber(page), size).first;
    Translation {
        tag: Asid::ZERO,
        first,
        size,
        frame: Some(first.0),
        rights: Rights::READ_WRITE,
        modified: true,
        share: None,
    }
}
