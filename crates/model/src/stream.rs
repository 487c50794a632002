//! The trace as all worlds see it: address spaces, time, and the sums of the trace.

use crate::recorded::{RecordedSystem, is_kernels};
pub use crate::refused::Refused;
use broadleaf_memory::{
    AddressSpaces, BlockId, Change, GEOMETRY, Histories, PageHistory, Touched, Touches,
};
use broadleaf_metrics::TraceSummary;
use broadleaf_tlb::Tlb;
use broadleaf_trace::reduced::Sums;
use broadleaf_trace::{Event, GuestLeaf};
use broadleaf_units::{BlockNumber, PageNumber, SpaceId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Bytes of memory that each block takes once, under any number of policies: its index, its
/// mapping, and its referenced pages. Lists of blocks are half empty after they grew.
const BLOCK_BYTES: u64 = 800;

/// The most blocks of a replay: 8 TiB of addresses.
pub const MOST_BLOCKS: usize = 1 << 22;
const _: () = assert!(MOST_BLOCKS <= 1 << 31, "a block and a bit fit a word");

/// The number of recently used blocks that are found without a search. A power of two.
const RECENT: usize = 8192;

/// A block number of the running space, and its id.
#[derive(Clone, Copy, Debug)]
struct Recent {
    number: BlockNumber,
    /// The epoch of the search that found the block.
    epoch: u32,
    found: FoundBlock,
}

/// A block, in one number: small entries of many blocks stay near to the processor.
#[derive(Clone, Copy, Debug)]
struct FoundBlock(u32);

impl FoundBlock {
    const fn new(block: BlockId, entered: bool) -> Self {
        Self(block.0 << 1 | entered as u32)
    }

    const fn block(self) -> BlockId {
        BlockId(self.0 >> 1)
    }

    /// True if pages moved to the block: then a reference to a page does not show that the page was
    /// in this block.
    const fn entered(self) -> bool {
        self.0 & 1 != 0
    }
}

/// An entry of no epoch.
const NOTHING: Recent = Recent {
    number: BlockNumber(0),
    epoch: 0,
    found: FoundBlock(0),
};

/// The accesses of the trace that was replayed before, and the pages that they touched.
#[derive(Clone, Copy, Debug, Default)]
struct Earlier {
    accesses: u64,
    touches: Touches,
}

/// The trace as all worlds see it.
pub struct Stream {
    /// The address spaces.
    pub spaces: Arc<AddressSpaces>,
    touched: Touched,
    /// The references to each page so far.
    pub histories: Histories,
    /// The sums of the trace so far.
    pub summary: TraceSummary,
    /// The trace that was replayed before this one.
    earlier: Earlier,
    /// Mappings whose offset in their block differs from the one that the kernel would choose.
    pub misplaced: u64,
    /// True if any reference is to the upper half of the addresses, where the kernel lives.
    pub kernel_references: bool,
    /// The recorded page tables, if the trace holds a whole system.
    system: Option<Box<RecordedSystem>>,
    /// The space that runs.
    pub running: SpaceId,
    /// The space that each process has, by its id.
    processes: BTreeMap<u32, SpaceId>,
    /// Spaces that ended, and stay until the next item.
    ending: Vec<SpaceId>,
    recent: Vec<Recent>,
    /// The epoch of the running space. An event begins a new one. Then blocks are searched again,
    /// so that the facts of their mappings are never stale.
    epoch: u32,
    /// The epochs of the other spaces that ran since the last event.
    epochs: BTreeMap<SpaceId, u32>,
    /// The epoch that began last.
    last_epoch: u32,
    /// Moves the recent blocks of a space, so that programs with the same addresses do not displace
    /// each other's.
    offset: usize,
}

impl Stream {
    /// The stream before the first item. The trace holds the mappings of the spaces in `told`.
    pub fn new(told: BTreeSet<SpaceId>) -> Self {
        Self {
            spaces: Arc::new(AddressSpaces::new(told)),
            touched: Touched::new(),
            histories: Histories::new(),
            summary: TraceSummary::default(),
            earlier: Earlier::default(),
            misplaced: 0,
            kernel_references: false,
            system: None,
            running: SpaceId(0),
            processes: BTreeMap::new(),
            ending: Vec::new(),
            recent: vec![NOTHING; RECENT],
            epoch: 1,
            epochs: BTreeMap::new(),
            last_epoch: 1,
            offset: 0,
        }
    }

    /// Bytes of memory that the blocks and the reservations of a recorded kernel take, to within
    /// some percent.
    pub fn bytes(&self) -> u64 {
        let blocks = self.spaces.blocks() as u64 * BLOCK_BYTES;
        blocks + self.spaces.kernel_reservation_bytes()
    }

    /// Accesses so far, including those of the earlier trace.
    pub const fn now(&self) -> u64 {
        self.earlier.accesses.saturating_add(self.summary.accesses)
    }

    /// Accesses of the trace itself at that time.
    pub const fn since_begun(&self, time: u64) -> u64 {
        time.saturating_sub(self.earlier.accesses)
    }

    /// The trace that begins holds a whole system with this kernel's space, or does not. The
    /// reservations of another trace's kernel are forgotten.
    pub fn set_kernel(&mut self, kernel: Option<SpaceId>) {
        if self.spaces.follows_kernel() {
            self.forget_facts();
            self.spaces_mut().stop_following_kernel();
        }
        self.system = kernel.map(|kernel| Box::new(RecordedSystem::new(kernel)));
    }

    /// The space of the upper half of the addresses, if the trace holds a whole system.
    pub fn kernel(&self) -> Option<SpaceId> {
        self.system.as_ref().map(|system| system.kernel)
    }

    /// Notes a leaf of the recorded page tables. Returns its space, and true if it replaces
    /// another leaf; `None` if the trace holds no system.
    pub fn note_leaf(&mut self, leaf: &GuestLeaf) -> Option<(SpaceId, bool)> {
        let running = self.running;
        Some(self.system.as_mut()?.note(leaf, running))
    }

    /// All that came so far ran before the trace that all this is about, which begins. Time goes
    /// on.
    pub fn begin(&mut self) {
        self.earlier = Earlier {
            accesses: self.now(),
            touches: self.touched.touches(),
        };
        self.summary = TraceSummary::default();
        self.misplaced = 0;
        self.kernel_references = false;
    }

    /// Distinct base pages and blocks that the trace touched.
    pub fn touches(&self) -> Touches {
        self.touched.touches() - self.earlier.touches
    }

    /// The address spaces, to be changed. The caller has waited for all other readers. (A reader
    /// that is left would keep the old state, at the price of a copy.)
    pub fn spaces_mut(&mut self) -> &mut AddressSpaces {
        debug_assert!(
            Arc::get_mut(&mut self.spaces).is_some(),
            "somebody still looks at them"
        );
        Arc::make_mut(&mut self.spaces)
    }

    /// Another space runs.
    pub fn switch(&mut self, space: SpaceId) {
        self.running = space;
    }

    /// The running space has ended, but stays until the next item.
    pub fn will_end(&mut self) {
        if !self.ending.contains(&self.running) {
            self.ending.push(self.running);
        }
    }

    /// Begins the running space as that process's. The space is new. If the process executed
    /// another program, its earlier space has ended.
    pub fn begin_space(&mut self, process: u32) -> Vec<Change> {
        let space = self.running;
        let mut changes = self.end_spaces();
        changes.extend(self.spaces_mut().end(space));
        if let Some(before) = self.processes.insert(process, space)
            && before != space
        {
            changes.extend(self.spaces_mut().end(before));
        }
        self.spaces_mut().begin(space, process);
        changes
    }

    /// Returns true if a space has ended and is not yet removed.
    pub fn is_ending(&self) -> bool {
        !self.ending.is_empty()
    }

    /// Spaces that ended are gone now that something comes after.
    pub fn end_spaces(&mut self) -> Vec<Change> {
        let ended = std::mem::take(&mut self.ending);
        (self.system.iter_mut()).for_each(|system| system.forget(&ended));
        ended
            .into_iter()
            .flat_map(|space| self.spaces_mut().end(space))
            .collect()
    }

    /// Records a visit to a page, for memories that are modelled to the frame and keep their own
    /// state.
    pub fn note_visit(&mut self, page: PageNumber) -> Result<(), Refused> {
        let block = self.block(page, &mut || {})?.block();
        let offset = GEOMETRY.offset_in_block(page);
        let spaces = &self.spaces;
        self.touched
            .note(block, offset, || spaces.backing(block, offset));
        Ok(())
    }

    /// Records a reference to a page, for memories that are modelled by blocks. Returns the history
    /// before the reference, or `None` if the reference changes no memory. `entered` is true if
    /// [pages may have moved to the block](Stream::block_of).
    #[inline(always)]
    pub fn reference(
        &mut self,
        block: BlockId,
        offset: usize,
        store: bool,
        entered: bool,
    ) -> Option<PageHistory> {
        if self.histories.is_settled(block, offset, store) && !entered {
            return None;
        }
        let seen = self.histories.note(block, offset, store);
        let spaces = &self.spaces;
        self.touched
            .note(block, offset, || spaces.backing(block, offset));
        (!seen.is_settled(store)).then_some(seen)
    }

    /// The block of a page of the running space, and whether pages moved to the block. `wait`
    /// returns when no thread reads the address spaces; the method calls `wait` before it changes
    /// the address spaces.
    #[inline(always)]
    pub fn block_of(
        &mut self,
        page: PageNumber,
        wait: &mut dyn FnMut(),
    ) -> Result<(BlockId, bool), Refused> {
        (self.block(page, wait)).map(|found| (found.block(), found.entered()))
    }

    /// Adds the sums of visits that were made.
    pub fn pass(&mut self, sums: &Sums) {
        // The sums in a file may exceed the range of the counters.
        let add = |sum: &mut u64, more| *sum = sum.saturating_add(more);
        add(&mut self.summary.loads, sums.loads);
        add(&mut self.summary.stores, sums.stores);
        add(&mut self.summary.instructions, sums.instructions);
        add(&mut self.summary.accesses, sums.accesses());
    }

    /// The place of a block among the recent ones.
    #[inline(always)]
    const fn place_of(&self, number: BlockNumber) -> usize {
        (number.0 as usize ^ self.offset) % RECENT
    }

    /// The block of a page. Always inlined: returning the result through memory would stall each
    /// visit.
    #[inline(always)]
    fn block(&mut self, page: PageNumber, wait: &mut dyn FnMut()) -> Result<FoundBlock, Refused> {
        let number = GEOMETRY.block_of(page);
        let recent = &self.recent[self.place_of(number)];
        if recent.number == number && recent.epoch == self.epoch {
            return Ok(recent.found);
        }
        self.search(page, number, wait)
    }

    #[cold]
    fn search(
        &mut self,
        page: PageNumber,
        number: BlockNumber,
        wait: &mut dyn FnMut(),
    ) -> Result<FoundBlock, Refused> {
        if !Tlb::can_translate(page) {
            return Err(Refused::Page(page));
        }
        self.kernel_references |= is_kernels(page);
        let block = self.prepared(number, wait)?;
        let found = FoundBlock::new(block, self.spaces.was_entered(block));
        let place = self.place_of(number);
        self.recent[place] = Recent {
            number,
            epoch: self.epoch,
            found,
        };
        Ok(found)
    }

    /// The block of that number, with all facts from its mappings. It does not wait for the readers
    /// of the address spaces if they hold the block already.
    fn prepared(
        &mut self,
        number: BlockNumber,
        wait: &mut dyn FnMut(),
    ) -> Result<BlockId, Refused> {
        let running = match &self.system {
            Some(system) if is_kernels(GEOMETRY.first_page(number)) => system.kernel,
            _ => self.running,
        };
        if Arc::get_mut(&mut self.spaces).is_none() {
            if let Some(block) = self.spaces.prepared(running, number) {
                return Ok(block);
            }
            wait();
        }
        let spaces = self.spaces_mut();
        let block = spaces.block(running, number);
        if block.index() >= MOST_BLOCKS {
            return Err(Refused::Block);
        }
        spaces.prepare(block);
        let blocks = spaces.blocks();
        self.histories.make_room(blocks);
        self.touched.make_room(blocks);
        Ok(block)
    }

    /// The changes of an event for every memory; `Err` if the event lists the first mapping of a
    /// space that was already referenced.
    pub fn event(&mut self, event: &Event) -> Result<Vec<Change>, TooLate> {
        self.forget_facts();
        crate::events::changes(self, event)
    }

    /// Something changes address spaces: the facts of mappings are looked up again.
    pub fn forget_facts(&mut self) {
        self.epochs.clear();
        self.begin_epoch();
    }

    fn begin_epoch(&mut self) {
        self.last_epoch = self.last_epoch.wrapping_add(1);
        if self.last_epoch == NOTHING.epoch {
            self.recent.fill(NOTHING);
            self.epochs.clear();
            self.last_epoch = 1;
        }
        self.epoch = self.last_epoch;
    }

    /// Another space runs, without an event: its program runs on another core all the time.
    pub fn resume(&mut self, space: SpaceId) {
        if space == self.running {
            return;
        }
        self.epochs.insert(self.running, self.epoch);
        self.running = space;
        self.offset = (space.0 as usize).wrapping_mul(0x9e37_79b1) >> 16;
        match self.epochs.get(&space) {
            Some(epoch) => self.epoch = *epoch,
            None => self.begin_epoch(),
        }
    }
}

/// An event lists the first mapping of a space that was already referenced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLate;
