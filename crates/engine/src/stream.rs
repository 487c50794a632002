//! The trace as all cells see it: address spaces, time, and what the trace comes to.

use crate::batch::Batch;
use crate::events::is_seen_by_no_policy;
use crate::sifted::{Fed, Sifted, Stretch};

use broadleaf_memory::{
    AddressSpaces, BlockId, Change, GEOMETRY, Histories, Seen, Touched, Touches,
};
use broadleaf_metrics::TraceSummary;
use broadleaf_trace::Event;
use broadleaf_trace::reduced::Sums;
use broadleaf_translation::{PageId, Tlb};
use broadleaf_units::{BlockNumber, PageNumber, SpaceId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a trace can hold that the model cannot take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// An address in this page is not canonical.
    Page(PageNumber),
    /// No number is left for another block.
    Block,
    /// The model needs `needed` bytes of memory for `blocks` blocks, but may use `limit` bytes.
    Room {
        needed: u64,
        limit: u64,
        blocks: usize,
    },
}

/// Bytes of memory that each block takes once, under any number of policies: its index, its
/// mapping, and its referenced pages. Lists of blocks are half empty after they grew.
const BLOCK_BYTES: u64 = 800;

/// How many recently used blocks are found without a search. A power of two.
const RECENT: usize = 8192;

/// A block number of the running space, and its id.
#[derive(Clone, Copy, Debug)]
struct Recent {
    number: BlockNumber,
    /// In which epoch that was found out.
    epoch: u32,
    found: Found,
}

/// A block.
#[derive(Clone, Copy, Debug)]
struct Found {
    block: BlockId,
    /// Pages came to it from elsewhere: that a page was referenced does not say that it was here.
    entered: bool,
}

/// What is in no epoch.
const NOTHING: Recent = Recent {
    number: BlockNumber(0),
    epoch: 0,
    found: Found {
        block: BlockId(0),
        entered: false,
    },
};

/// What was replayed before: accesses, and what they touched.
#[derive(Clone, Copy, Debug, Default)]
struct Earlier {
    accesses: u64,
    touches: Touches,
}

/// The trace as all cells see it.
pub(crate) struct Stream {
    pub(crate) spaces: Arc<AddressSpaces>,
    touched: Touched,
    pub(crate) histories: Histories,
    pub(crate) summary: TraceSummary,
    /// What was replayed before the trace that all this is about.
    earlier: Earlier,
    /// Mappings that stand elsewhere in their block than the kernel would have put them.
    pub(crate) misplaced: u64,
    /// Whether any reference is to the upper half of the addresses, where the kernel lives.
    pub(crate) kernel_references: bool,
    /// The space that runs.
    pub(crate) running: SpaceId,
    /// The space that each process has, by its id.
    processes: BTreeMap<u32, SpaceId>,
    /// Spaces that ended, and stand until something comes after.
    ending: Vec<SpaceId>,
    recent: Vec<Recent>,
    /// Moves on with every event, so that blocks are looked at afresh: what is known of their mappings is never old.
    epoch: u32,
}

impl Stream {
    pub(crate) fn new(told: BTreeSet<SpaceId>) -> Self {
        Self {
            spaces: Arc::new(AddressSpaces::new(told)),
            touched: Touched::new(),
            histories: Histories::new(),
            summary: TraceSummary::default(),
            earlier: Earlier::default(),
            misplaced: 0,
            kernel_references: false,
            running: SpaceId(0),
            processes: BTreeMap::new(),
            ending: Vec::new(),
            recent: vec![NOTHING; RECENT],
            epoch: 1,
        }
    }

    /// Bytes of memory that the blocks take, to within some percent.
    pub(crate) fn bytes(&self) -> u64 {
        self.spaces.blocks() as u64 * BLOCK_BYTES
    }

    /// Accesses so far, and those of what ran before.
    pub(crate) const fn now(&self) -> u64 {
        self.earlier.accesses.saturating_add(self.summary.accesses)
    }

    /// Accesses of the trace itself at that time.
    pub(crate) const fn since_begun(&self, time: u64) -> u64 {
        time.saturating_sub(self.earlier.accesses)
    }

    /// All that came so far ran before the trace that all this is about, which begins. Time goes on.
    pub(crate) fn begin(&mut self) {
        self.earlier = Earlier {
            accesses: self.now(),
            touches: self.touched.touches(),
        };
        self.summary = TraceSummary::default();
        self.misplaced = 0;
        self.kernel_references = false;
    }

    /// Distinct base pages and blocks that the trace touched.
    pub(crate) fn touches(&self) -> Touches {
        self.touched.touches() - self.earlier.touches
    }

    /// The address spaces, to be changed. Whoever else looked at them was waited for. (Somebody who was not would go on to see them as they were, at the price of a copy.)
    pub(crate) fn spaces_mut(&mut self) -> &mut AddressSpaces {
        debug_assert!(
            Arc::get_mut(&mut self.spaces).is_some(),
            "somebody still looks at them"
        );
        Arc::make_mut(&mut self.spaces)
    }

    /// Another space runs.
    pub(crate) fn switch(&mut self, space: SpaceId) {
        self.running = space;
    }

    /// The running space has ended, but stands as long as nothing comes after.
    pub(crate) fn will_end(&mut self) {
        if !self.ending.contains(&self.running) {
            self.ending.push(self.running);
        }
    }

    /// The running space begins as that process: it is a new one, and what the process had before, if it executed another program, is no more.
    pub(crate) fn begin_space(&mut self, process: u32) -> Vec<Change> {
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

    /// Whether a space has ended that still stands.
    pub(crate) fn is_ending(&self) -> bool {
        !self.ending.is_empty()
    }

    /// Spaces that ended are gone now that something comes after.
    pub(crate) fn end_spaces(&mut self) -> Vec<Change> {
        let ended = std::mem::take(&mut self.ending);
        ended
            .into_iter()
            .flat_map(|space| self.spaces_mut().end(space))
            .collect()
    }

    /// Whether a piece changes what policies see of the visits before it, so that those have to be replayed first.
    pub(crate) fn is_changed_by(&self, piece: &Fed) -> bool {
        match piece {
            Fed::Visits(_, sums) => sums.data && !self.ending.is_empty(),
            Fed::Event(event) => !is_seen_by_no_policy(event),
        }
    }

    /// Takes a stretch of visits in: finds their blocks and what was known of their pages, and leaves them in `batch` for the teams. Their times
    /// count from what was taken in before; what they come to is to be told with [`Stream::pass`]. It may `wait` for those who still look at the address spaces
    /// as they are, before these change.
    pub(crate) fn take(
        &mut self,
        sifted: &Sifted,
        stretch: Stretch,
        batch: &mut Batch,
        wait: &mut dyn FnMut(),
    ) -> Result<(), Refused> {
        let (from, to) = stretch.kept;
        let visits = &sifted.kept[from..to];
        batch.begin(self.running);
        let begin = self.now();
        batch.extend(visits, begin);
        let mut ids = batch.room_for_blocks(visits.len());
        for (at, (visit, id)) in visits.iter().zip(&mut ids).enumerate() {
            let page = PageNumber(visit.page);
            let Found { block, entered } = self.block(page, wait)?;
            let offset = GEOMETRY.offset_in_block(page);
            *id = PageId::new(block.0, offset as u16);
            let store = visit.manner.any_store();
            if self.histories.is_settled(block, offset, store) && !entered {
                continue;
            }
            let seen = self.histories.note(block, offset, store);
            let spaces = &self.spaces;
            self.touched
                .note(block, offset, || spaces.backing(block, offset));
            if !seen.is_settled(store) {
                let time = begin.saturating_add(visit.time);
                batch.add_incident(visit, at, *id, time, seen);
            }
        }
        batch.ids = ids;
        let (first, last) = stretch.pages;
        batch.trail.pages.reserve(last - first);
        for &page in &sifted.trail.pages[first..last] {
            let block = self.block(page, wait)?.block;
            batch.trail.pages.push((page, block));
        }
        if let Some(times) = sifted.trail.times.get(first..)
            && !sifted.trail.times.is_empty()
        {
            let times = times.iter().take(last + 1 - first);
            let times = times.map(|time| begin.saturating_add_signed(*time));
            batch.trail.times.extend(times);
            batch.trail.times.resize(last + 1 - first, u64::MAX);
        }
        if let Some(before) = sifted.trail.before.get(from..to) {
            let before = before.iter().map(|before| before - first as u32);
            batch.trail.before.extend(before);
        }
        Ok(())
    }

    /// Notes that a page is visited, whatever that does to memories that are kept elsewhere.
    pub(crate) fn notice(&mut self, page: PageNumber) -> Result<(), Refused> {
        let block = self.block(page, &mut || {})?.block;
        let offset = GEOMETRY.offset_in_block(page);
        let spaces = &self.spaces;
        self.touched
            .note(block, offset, || spaces.backing(block, offset));
        Ok(())
    }

    /// Records that the kernel touches a page. Returns the page's block and its earlier history, or
    /// `None` if the access changes nothing. Address spaces must not be read during the call.
    pub(crate) fn touch(
        &mut self,
        page: PageNumber,
        store: bool,
    ) -> Result<Option<(BlockId, Seen)>, Refused> {
        let Found { block, entered } = self.block(page, &mut || {})?;
        let offset = GEOMETRY.offset_in_block(page);
        if self.histories.is_settled(block, offset, store) && !entered {
            return Ok(None);
        }
        let seen = self.histories.note(block, offset, store);
        let spaces = &self.spaces;
        self.touched
            .note(block, offset, || spaces.backing(block, offset));
        Ok((!seen.is_settled(store)).then_some((block, seen)))
    }

    /// Time passes: visits were made that come to this.
    pub(crate) fn pass(&mut self, sums: &Sums) {
        // What a file says may be more than can be counted.
        let add = |sum: &mut u64, more| *sum = sum.saturating_add(more);
        add(&mut self.summary.loads, sums.loads);
        add(&mut self.summary.stores, sums.stores);
        add(&mut self.summary.instructions, sums.instructions);
        add(&mut self.summary.accesses, sums.accesses());
    }

    /// The block of a page. In line always: what is returned through memory is waited for at each visit.
    #[inline(always)]
    fn block(&mut self, page: PageNumber, wait: &mut dyn FnMut()) -> Result<Found, Refused> {
        let number = GEOMETRY.block_of(page);
        let recent = &self.recent[number.0 as usize % RECENT];
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
    ) -> Result<Found, Refused> {
        if !Tlb::can_translate(page) {
            return Err(Refused::Page(page));
        }
        self.kernel_references |= page.0 >> 51 != 0;
        let block = self.prepared(number, wait)?;
        let found = Found {
            block,
            entered: self.spaces.was_entered(block),
        };
        self.recent[number.0 as usize % RECENT] = Recent {
            number,
            epoch: self.epoch,
            found,
        };
        Ok(found)
    }

    /// A block of that number, of which all is found out that mappings say. Where others look at the address spaces and these know it, nobody has to be waited for.
    fn prepared(
        &mut self,
        number: BlockNumber,
        wait: &mut dyn FnMut(),
    ) -> Result<BlockId, Refused> {
        let running = self.running;
        if Arc::get_mut(&mut self.spaces).is_none() {
            if let Some(block) = self.spaces.prepared(running, number) {
                return Ok(block);
            }
            wait();
        }
        let spaces = self.spaces_mut();
        let block = spaces.block(running, number);
        if block.index() >= PageId::MOST_BLOCKS {
            return Err(Refused::Block);
        }
        spaces.prepare(block);
        let blocks = spaces.blocks();
        self.histories.make_room(blocks);
        self.touched.make_room(blocks);
        Ok(block)
    }

    /// What an event changes for every memory; `Err` where it is the first to tell a space's mappings and comes too late.
    pub(crate) fn event(&mut self, event: &Event) -> Result<Vec<Change>, TooLate> {
        self.epoch = self.epoch.wrapping_add(1);
        if self.epoch == NOTHING.epoch {
            self.recent.fill(NOTHING);
            self.epoch = 1;
        }
        crate::events::changes(self, event)
    }
}

/// A space that was taken for one whose mappings are not told has one told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLate;
