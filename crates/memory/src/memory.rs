//! The half of memory that depends on the policy: resident and dirty pages, reserved and promoted
//! blocks.
//!
//! The verbs carry out decisions and count them. The policy decides elsewhere. A verb on a block or
//! page in an unsuitable state does nothing.

use crate::state::{OddBlocks, PackedBlock};
use crate::unpacked::Unpacked;
use crate::{
    BlockId, ByKind, Change, GEOMETRY, Histories, PAGES_PER_BLOCK, PageMap, Shootdown,
    UnpackedBlock,
};
use broadleaf_units::{AlignedRun, BackingKind, BlockNumber, SpaceId};
use std::collections::BTreeMap;

/// The counters of a memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// References to pages that were not resident.
    pub page_faults: u64,
    /// Blocks that became superpages.
    pub promotions: u64,
    /// Superpages that were broken into base pages.
    pub demotions: u64,
    /// Pages that a promotion zeroed and that were removed without a reference.
    pub zeroed_and_gone: u64,
    /// Pages that a promotion read from a file and that were removed without a reference.
    pub read_and_gone: u64,
    /// Resident base pages.
    pub resident: u64,
    /// The maximum of `resident`.
    pub peak_resident: u64,
}

/// The totals of a memory, if the trace ends now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryTotals {
    /// Anonymous pages that a promotion filled and that were not referenced while they were
    /// resident.
    pub extra_zeroed_pages: u64,
    /// File-backed pages that a promotion filled and that were not referenced while they were
    /// resident.
    pub extra_disk_read_pages: u64,
    /// Clean pages in superpages that hold a dirty one.
    pub false_dirty_pages: ByKind,
    /// Clean pages in superpages.
    pub clean_pages_in_superpages: ByKind,
}

impl MemoryTotals {
    /// Adds a superpage that exists at the end, with `pages` base pages, `dirty` of them dirty.
    pub(crate) fn add_superpage(&mut self, kind: BackingKind, pages: u64, dirty: u64) {
        self.clean_pages_in_superpages.add(kind, pages - dirty);
        if dirty > 0 {
            self.false_dirty_pages.add(kind, pages - dirty);
        }
    }
}

/// The facts about a block that a policy decides on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyFacts {
    /// The number of resident base pages.
    pub populated: u32,
    /// The number of dirty base pages.
    pub dirty: u32,
    /// The time of the reservation, in accesses since the start of the trace. `None` if there is no
    /// reservation.
    pub reserved_at: Option<u64>,
    /// True if the block is a superpage.
    pub is_promoted: bool,
}

/// The memory of one policy.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    states: Vec<PackedBlock>,
    odd: OddBlocks,
    counters: Counters,
}

impl Memory {
    /// An empty memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes room for blocks with ids below `count`. All other methods need this room.
    #[inline]
    pub fn make_room(&mut self, count: usize) {
        if self.states.len() < count {
            self.states.resize_with(count, PackedBlock::default);
        }
    }

    #[inline]
    fn state(&self, block: BlockId) -> &PackedBlock {
        &self.states[block.index()]
    }

    /// The number of resident base pages of a block.
    ///
    /// # Panics
    /// Panics if there is no room for the block, as does every verb.
    #[inline]
    pub fn populated(&self, block: BlockId) -> u32 {
        self.state(block).populated()
    }

    /// The number of dirty base pages of a block.
    #[inline]
    pub fn dirty(&self, block: BlockId) -> u32 {
        self.state(block).dirty()
    }

    /// Returns true if a block is a superpage.
    #[inline]
    pub fn is_promoted(&self, block: BlockId) -> bool {
        self.state(block).promoted
    }

    /// The time of a block's reservation, in accesses since the start of the trace. `None` if there
    /// is no reservation.
    #[inline]
    pub fn reserved_at(&self, block: BlockId) -> Option<u64> {
        self.state(block).reserved_at()
    }

    /// The facts about a block that a policy decides on.
    #[inline]
    pub fn policy_facts(&self, block: BlockId) -> PolicyFacts {
        let state = self.state(block);
        PolicyFacts {
            populated: state.populated(),
            dirty: state.dirty(),
            reserved_at: state.reserved_at(),
            is_promoted: state.promoted,
        }
    }

    /// The whole state of a block.
    pub fn unpacked_block(&self, block: BlockId, histories: &Histories) -> UnpackedBlock {
        self.state(block).unpack(histories.block(block), &self.odd)
    }

    /// The counters so far.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns true if a page is resident. `used` is true if the page was referenced since it
    /// became resident.
    #[inline]
    pub fn is_resident(&self, block: BlockId, offset: usize, used: bool) -> bool {
        self.state(block).is_resident(offset, used, &self.odd)
    }

    /// Handles a page fault at time `now`: the page becomes resident and used. An empty block is
    /// reserved if `reservable`. Returns true if the block was reserved.
    #[inline]
    pub fn fault(&mut self, block: BlockId, offset: usize, now: u64, reservable: bool) -> bool {
        let state = &mut self.states[block.index()];
        // Only an empty block is reserved: frames that lie elsewhere cannot be gathered.
        let reserve = reservable && state.populated() == 0;
        if reserve {
            state.reserve(now);
        }
        state.add(offset, &mut self.odd);
        self.counters.page_faults += 1;
        self.count_resident(1);
        reserve
    }

    /// Counts a clean page that becomes dirty.
    #[inline]
    pub fn dirty_page(&mut self, block: BlockId) {
        self.dirty_pages(block, 1);
    }

    /// Counts `pages` clean pages that become dirty.
    #[inline]
    pub fn dirty_pages(&mut self, block: BlockId, pages: u16) {
        self.states[block.index()].add_dirty(pages);
    }

    /// Promotes a reserved block to a superpage. Pages that are not resident are filled, from a
    /// file or with zeroes. TLB entries of its base pages stay valid, so no shootdown follows.
    pub fn promote(&mut self, block: BlockId, backing: BackingKind) -> Shootdown {
        let state = &mut self.states[block.index()];
        if state.promoted || state.reserved_at().is_none() {
            return Shootdown::Nothing;
        }
        let filled = PAGES_PER_BLOCK as u64 - u64::from(state.populated());
        state.fill(backing == BackingKind::File, &mut self.odd);
        state.promoted = true;
        self.counters.promotions += 1;
        self.count_resident(filled);
        Shootdown::Nothing
    }

    /// Demotes a superpage to base pages, which all stay resident. The block lies at the given
    /// place.
    pub fn demote(&mut self, block: BlockId, (space, number): (SpaceId, BlockNumber)) -> Shootdown {
        let state = &mut self.states[block.index()];
        if !std::mem::replace(&mut state.promoted, false) {
            return Shootdown::Nothing;
        }
        self.counters.demotions += 1;
        Shootdown::Superpage {
            space,
            run: AlignedRun {
                first: GEOMETRY.first_page(number),
                size: GEOMETRY.superpage(),
            },
        }
    }

    /// Counts pages that became resident.
    fn count_resident(&mut self, pages: u64) {
        self.counters.resident += pages;
        self.counters.peak_resident = self.counters.peak_resident.max(self.counters.resident);
    }

    /// Applies a change. The histories are those before the event.
    pub fn apply(&mut self, change: &Change, histories: &Histories) -> Shootdown {
        let mut unpacked = Unpacked {
            blocks: BTreeMap::new(),
            counters: &mut self.counters,
        };
        for block in change.blocks() {
            let state = &self.states[block.index()];
            let history = histories.block(block);
            // An empty block can only gain pages.
            if state.populated() > 0 || matches!(change, Change::Relocate { .. }) {
                unpacked
                    .blocks
                    .insert(block, state.unpack(history, &self.odd));
            }
        }
        let shootdown = unpacked.apply(change);
        for (block, unpacked) in unpacked.blocks {
            self.states[block.index()].pack(&unpacked, &mut self.odd);
        }
        shootdown
    }

    /// The totals, if the trace ends now. `kind_of` returns the kind of a block's first page.
    pub fn totals(
        &self,
        histories: &Histories,
        kind_of: impl Fn(BlockId) -> BackingKind,
    ) -> MemoryTotals {
        let mut totals = MemoryTotals {
            extra_zeroed_pages: self.counters.zeroed_and_gone,
            extra_disk_read_pages: self.counters.read_and_gone,
            ..MemoryTotals::default()
        };
        for number in 0..self.states.len() {
            let id = BlockId(number as u32);
            let block = self.unpacked_block(id, histories);
            let (zeroed, read) = block.filled_counts(&PageMap::FULL);
            totals.extra_zeroed_pages += zeroed;
            totals.extra_disk_read_pages += read;
            if block.promoted {
                totals.add_superpage(
                    kind_of(id),
                    PAGES_PER_BLOCK as u64,
                    block.dirty_pages.into(),
                );
            }
        }
        totals
    }

    /// Asserts the invariants between two verbs.
    ///
    /// # Panics
    /// Panics if an invariant is broken.
    pub fn check(&self, histories: &Histories) {
        let mut resident = 0;
        for number in 0..self.states.len() {
            let block = self.unpacked_block(BlockId(number as u32), histories);
            block.check();
            resident += u64::from(block.populated);
        }
        assert_eq!(
            self.counters.resident, resident,
            "resident pages are miscounted"
        );
        assert!(
            self.counters.peak_resident >= resident,
            "the peak lies below what is resident"
        );
        assert!(
            self.counters.demotions <= self.counters.promotions,
            "more superpages broken than made"
        );
    }
}
