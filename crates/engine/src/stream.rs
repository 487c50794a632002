//! The trace as all cells see it: address spaces, time, and what the trace comes to.

use crate::batch::{Batch, PageVisit};
use crate::filter::Filter;
use crate::tags::Tags;
use broadleaf_memory::{AddressSpaces, BlockId, Change, GEOMETRY};
use broadleaf_metrics::TraceSummary;
use broadleaf_trace::{Event, Grain, Lead, Visit};
use broadleaf_translation::Tlb;
use broadleaf_units::{BlockNumber, PageNumber, SpaceId};
use std::collections::BTreeSet;

/// What a trace can hold that the model cannot take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// An address in this page is not canonical.
    Page(PageNumber),
    /// No tag is left for another address space.
    Space,
}

/// How many recently used blocks are found without a search. A power of two.
const RECENT: usize = 8192;

/// A block number of the running space, and its id.
#[derive(Clone, Copy, Debug)]
struct Recent {
    number: BlockNumber,
    block: BlockId,
    /// In which epoch that was found out.
    epoch: u32,
}

/// What is in no epoch.
const NOTHING: Recent = Recent {
    number: BlockNumber(0),
    block: BlockId(0),
    epoch: 0,
};

/// The trace as all cells see it.
pub(crate) struct Stream {
    filter: Filter,
    pub(crate) spaces: AddressSpaces,
    pub(crate) tags: Tags,
    pub(crate) summary: TraceSummary,
    /// Mappings that stand elsewhere in their block than the kernel would have put them.
    pub(crate) misplaced: u64,
    /// Whether any reference is to the upper half of the addresses, where the kernel lives.
    pub(crate) kernel_references: bool,
    /// The space that runs.
    pub(crate) running: SpaceId,
    /// Spaces that ended, and stand until something comes after.
    ending: Vec<SpaceId>,
    /// How many low bits of a unit lie inside a base page.
    unit_shift: u32,
    recent: Vec<Recent>,
    /// Moves on with every event, so that blocks are looked at afresh: what is known of their mappings is never old.
    epoch: u32,
}

impl Stream {
    pub(crate) fn new(grain: Grain, told: BTreeSet<SpaceId>, filter: Filter) -> Self {
        Self {
            filter,
            spaces: AddressSpaces::new(told),
            tags: Tags::default(),
            summary: TraceSummary::default(),
            misplaced: 0,
            kernel_references: false,
            running: SpaceId(0),
            ending: Vec::new(),
            unit_shift: u32::from(GEOMETRY.base().shift() - grain.shift()),
            recent: vec![NOTHING; RECENT],
            epoch: 1,
        }
    }

    /// Accesses so far.
    pub(crate) const fn now(&self) -> u64 {
        self.summary.accesses
    }

    /// Something was taken away from a cell, or from all.
    pub(crate) fn disturb(&mut self) {
        self.filter.forget();
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

    /// Spaces that ended are gone now that something comes after.
    pub(crate) fn end_spaces(&mut self) -> Vec<Change> {
        let ended = std::mem::take(&mut self.ending);
        ended
            .into_iter()
            .flat_map(|space| self.spaces.end(space))
            .collect()
    }

    /// Whether these visits hold any reference to data, before which what ended has to be gone.
    pub(crate) fn end_spaces_before(&mut self, visits: &[Visit]) -> Vec<Change> {
        let any_data = !self.ending.is_empty() && visits.iter().any(|visit| !visit.fetch);
        if any_data {
            self.end_spaces()
        } else {
            Vec::new()
        }
    }

    /// Takes visits in: finds their blocks, sums them up, and leaves them in `batch` for the cells.
    pub(crate) fn take(&mut self, visits: &[Visit], batch: &mut Batch) -> Result<(), Refused> {
        batch.begin(self.tags.give(self.running).ok_or(Refused::Space)?);
        for visit in visits {
            self.summary.instructions += u64::from(visit.instructions);
            if visit.fetch || visit.lookups() == 0 {
                continue;
            }
            let page = PageNumber(visit.unit >> self.unit_shift);
            let block = self.block(page)?;
            let offset = GEOMETRY.offset_in_block(page);
            self.spaces.touch(block, offset);
            batch.push(PageVisit {
                page,
                block,
                offset: offset as u16,
                leads: visit.lead != Lead::None,
                leads_with_store: visit.lead == Lead::Store,
                stores: visit.stores > 0,
                loads_before_store: u64::from(visit.loads_before_store.min(visit.loads)),
                time: self.summary.accesses,
                accesses: visit.accesses(),
            });
            self.summary.loads += u64::from(visit.loads);
            self.summary.stores += u64::from(visit.stores);
            self.summary.accesses += visit.accesses();
        }
        batch.end = self.summary.accesses;
        self.filter.sift(batch);
        Ok(())
    }

    #[inline]
    fn block(&mut self, page: PageNumber) -> Result<BlockId, Refused> {
        let number = GEOMETRY.block_of(page);
        let recent = self.recent[number.0 as usize % RECENT];
        if recent.number == number && recent.epoch == self.epoch {
            return Ok(recent.block);
        }
        self.search(page, number)
    }

    fn search(&mut self, page: PageNumber, number: BlockNumber) -> Result<BlockId, Refused> {
        if !Tlb::can_translate(page) {
            return Err(Refused::Page(page));
        }
        self.kernel_references |= page.0 >> 51 != 0;
        let block = self.spaces.block(self.running, number);
        self.spaces.prepare(block);
        self.recent[number.0 as usize % RECENT] = Recent {
            number,
            block,
            epoch: self.epoch,
        };
        Ok(block)
    }

    /// What an event changes for every memory; `Err` where it is the first to tell a space's mappings and comes too late.
    pub(crate) fn event(&mut self, event: &Event) -> Result<Vec<Change>, TooLate> {
        self.disturb();
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
