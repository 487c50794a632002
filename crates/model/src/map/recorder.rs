//! The recorder of a map.

use super::history::BlockHistory;
use super::{BLOCK_PAGES, BlockState, MapKind, RecordedBlock, RecordedMap, RecordedMapping};
use crate::{
    AddressSpaces, HeardDecision, MemoryLook, SlowLookups, Step, StepListener, StepSurroundings,
};
use broadleaf_units::{PageSize, SpaceId};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// The maps of a replay, by policy and machine.
pub type RecordedMaps = Arc<Mutex<BTreeMap<(String, String), RecordedMap>>>;

/// The memory of one kind in one block.
type BlockKey = (SpaceId, MapKind, u64);

/// Records the map of a policy on a machine.
pub struct MapRecorder {
    key: (String, String),
    /// The accesses of a bin, and the number of bins.
    bin_accesses: u64,
    bins: u32,
    /// The time at which the trace began.
    begun: u64,
    /// The number of the bin at whose end the next look is.
    next_bin: u32,
    index: BTreeMap<BlockKey, usize>,
    blocks: Vec<OpenBlock>,
    /// The ranges of pages of each kind of memory: the first, and the one after the last.
    ranges: BTreeMap<(SpaceId, MapKind), BTreeMap<u64, u64>>,
    histories: BTreeMap<(SpaceId, u64), BlockHistory>,
    /// Pages that were looked up since the last events, by the low bits of their numbers.
    recent: Vec<Recent>,
    /// The number of times that mappings may have changed.
    generation: u64,
    maps: RecordedMaps,
}

/// The block of a page, as mappings were at a generation.
#[derive(Clone, Copy, Debug)]
struct Recent {
    generation: u64,
    space: SpaceId,
    page: u64,
    block: usize,
}

/// The number of pages that are found without their mappings.
const RECENT: usize = 1 << 12;

/// No page.
const NOTHING: Recent = Recent {
    generation: u64::MAX,
    space: SpaceId(u32::MAX),
    page: u64::MAX,
    block: 0,
};

/// A block that is being recorded.
#[derive(Clone, Debug)]
struct OpenBlock {
    recorded: RecordedBlock,
    touched: [u64; BLOCK_PAGES as usize / 64],
    of_pages: BTreeMap<u32, u64>,
    /// The state that the look under way has counted so far.
    now: BlockState,
}

impl MapRecorder {
    /// A recorder of a policy on a machine, for a trace of this number of accesses. `maps` receives
    /// the map. Times are in bins, whose number is at most `most_bins`.
    pub fn new(
        policy: &str,
        machine: &str,
        accesses: u64,
        most_bins: u32,
        maps: RecordedMaps,
    ) -> Self {
        let bin_accesses = accesses.div_ceil(most_bins.max(1).into()).max(1);
        Self {
            key: (policy.to_owned(), machine.to_owned()),
            bin_accesses,
            bins: accesses.div_ceil(bin_accesses).max(1) as u32,
            begun: 0,
            next_bin: 0,
            index: BTreeMap::new(),
            blocks: Vec::new(),
            ranges: BTreeMap::new(),
            histories: BTreeMap::new(),
            recent: vec![NOTHING; RECENT],
            generation: 0,
            maps,
        }
    }

    /// The number of the bin of a time.
    fn bin(&self, time: u64) -> u32 {
        let bin = time.saturating_sub(self.begun) / self.bin_accesses;
        bin.min(u64::from(self.bins) - 1) as u32
    }

    /// The block of a page of 4 KiB, by the mapping that the page has now.
    fn block_of(&mut self, space: SpaceId, page: u64, spaces: &AddressSpaces) -> usize {
        let recent = self.recent[page as usize % RECENT];
        if (recent.generation, recent.space, recent.page) == (self.generation, space, page) {
            return recent.block;
        }
        let number = page / BLOCK_PAGES;
        let around = number * BLOCK_PAGES..(number + 1) * BLOCK_PAGES;
        let mapping = spaces.mapping_at(space, page);
        let kind = mapping.map_or(MapKind::Unlisted, |mapping| MapKind::of(mapping.backing));
        let whole = mapping.map_or(around, |mapping| mapping.pages.start..mapping.pages.end);
        add_range(self.ranges.entry((space, kind)).or_default(), whole);
        let next = self.blocks.len();
        let block = *self.index.entry((space, kind, number)).or_insert(next);
        if block == next {
            self.blocks.push(OpenBlock::new(number));
        }
        self.recent[page as usize % RECENT] = Recent {
            generation: self.generation,
            space,
            page,
            block,
        };
        block
    }

    /// The map so far.
    fn map(&mut self) -> RecordedMap {
        let blocks = std::mem::take(&mut self.blocks);
        let mut blocks: Vec<Option<RecordedBlock>> =
            blocks.into_iter().map(|open| Some(open.close())).collect();
        let mut mappings = Vec::new();
        for ((space, kind), ranges) in &self.ranges {
            for whole in runs(ranges) {
                let first = whole.start / BLOCK_PAGES;
                let end = whole.end.div_ceil(BLOCK_PAGES);
                let inside = (*space, *kind, first)..(*space, *kind, end);
                let held = self.index.range(inside);
                let blocks: Vec<RecordedBlock> = held
                    .filter_map(|(_, block)| blocks[*block].take())
                    .collect();
                if !blocks.is_empty() {
                    mappings.push(RecordedMapping {
                        space: *space,
                        kind: *kind,
                        start: whole.start << PageSize::SIZE_4K.shift(),
                        end: whole.end << PageSize::SIZE_4K.shift(),
                        blocks,
                    });
                }
            }
        }
        mappings.sort_by_key(|mapping| (mapping.space, mapping.start, mapping.kind));
        RecordedMap {
            bin_accesses: self.bin_accesses,
            bins: self.bins,
            mappings,
            histories: std::mem::take(&mut self.histories).into_iter().collect(),
        }
    }
}

impl StepListener for MapRecorder {
    fn begin_at(&mut self, time: u64) {
        self.begun = time;
        self.next_bin = 0;
        self.index.clear();
        self.blocks.clear();
        self.ranges.clear();
        self.histories.clear();
        self.generation += 1;
    }

    fn step(&mut self, _step: &Step, _slow: SlowLookups) {}

    fn step_in(&mut self, step: &Step, slow: SlowLookups, surroundings: &StepSurroundings<'_>) {
        let (page, time) = (step.visit.page.0, step.visit.time);
        let block = self.block_of(step.origin.space, page, surroundings.spaces);
        let (bin, begun) = (self.bin(time), self.begun);
        let block = &mut self.blocks[block];
        block.touch(page, time.saturating_sub(begun));
        if slow.walks > 0 {
            block.walk(page, bin, slow.walks, surroundings.walk_cycles);
        }
    }

    fn events_passed(&mut self) {
        self.generation += 1;
    }

    fn looks_at(&self) -> Option<u64> {
        let next = u64::from(self.next_bin) + 1;
        Some(self.begun.saturating_add(next * self.bin_accesses))
    }

    fn look(&mut self, look: &MemoryLook<'_>) {
        // A look that is late found no step in the bins since then.
        let bin = self.next_bin.min(self.bins - 1);
        for block in &mut self.blocks {
            block.now = BlockState::default();
        }
        for page in look.pages() {
            for unit in page.first.0..page.first.0 + page.units {
                let block = self.block_of(page.space, unit, look.spaces);
                let now = &mut self.blocks[block].now;
                now.populated += 1;
                now.promoted += u32::from(page.in_superpage);
                now.wasted += u32::from(!page.used);
            }
        }
        for block in &mut self.blocks {
            block.end_look(bin);
        }
        let passed = look.time.saturating_sub(self.begun) / self.bin_accesses;
        self.next_bin = (bin + 1).max(passed.min(self.bins.into()) as u32);
    }

    fn wants_decisions(&self) -> bool {
        true
    }

    fn decision(&mut self, decision: &HeardDecision) {
        let block = (decision.space, decision.first.0 / BLOCK_PAGES);
        let time = decision.time.saturating_sub(self.begun);
        self.histories.entry(block).or_default().add(decision, time);
    }

    fn end(&mut self) {
        let map = self.map();
        if let Ok(mut maps) = self.maps.lock() {
            maps.insert(self.key.clone(), map);
        }
    }
}

impl OpenBlock {
    fn new(number: u64) -> Self {
        Self {
            recorded: RecordedBlock {
                number,
                ..RecordedBlock::default()
            },
            touched: [0; BLOCK_PAGES as usize / 64],
            of_pages: BTreeMap::new(),
            now: BlockState::default(),
        }
    }

    fn touch(&mut self, page: u64, time: u64) {
        let offset = (page % BLOCK_PAGES) as usize;
        self.touched[offset / 64] |= 1 << (offset % 64);
        self.recorded.first_reference.get_or_insert(time);
    }

    fn walk(&mut self, page: u64, bin: u32, walks: u64, cycles: u64) {
        self.recorded.walks += walks;
        let offset = (page % BLOCK_PAGES) as u32;
        *self.of_pages.entry(offset).or_default() += cycles;
        match self.recorded.walk_cycles.last_mut() {
            Some((last, sum)) if *last == bin => *sum += cycles,
            _ => self.recorded.walk_cycles.push((bin, cycles)),
        }
    }

    /// Keeps the state that a look found, if it is new.
    fn end_look(&mut self, bin: u32) {
        let now = BlockState { bin, ..self.now };
        let states = &mut self.recorded.states;
        // The last look may come twice.
        states.retain(|state| state.bin < bin);
        let last = states.last().copied().unwrap_or_default();
        let same = BlockState { bin, ..last };
        if now != same {
            states.push(now);
        }
    }

    fn close(self) -> RecordedBlock {
        let touched = self.touched.iter().map(|word| word.count_ones());
        RecordedBlock {
            touched_pages: touched.sum(),
            of_pages: self.of_pages.into_iter().collect(),
            ..self.recorded
        }
    }
}

/// Adds a range to others, and merges those that meet.
fn add_range(ranges: &mut BTreeMap<u64, u64>, new: Range<u64>) {
    let before = ranges.range(..=new.start).next_back();
    if let Some((_, end)) = before
        && *end >= new.end
    {
        return;
    }
    let (mut start, mut end) = (new.start, new.end);
    if let Some((&from, &to)) = before
        && to >= start
    {
        start = from;
    }
    while let Some((&from, &to)) = ranges.range(start..=end).next() {
        ranges.remove(&from);
        end = end.max(to);
    }
    ranges.insert(start, end);
}

/// Ranges whose blocks meet, together.
fn runs(ranges: &BTreeMap<u64, u64>) -> Vec<Range<u64>> {
    let mut runs: Vec<Range<u64>> = Vec::new();
    for (&start, &end) in ranges {
        match runs.last_mut() {
            Some(last) if start / BLOCK_PAGES <= last.end.div_ceil(BLOCK_PAGES) => last.end = end,
            _ => runs.push(start..end),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_meet_are_one() {
        let mut ranges = BTreeMap::new();
        for range in [10..20, 30..40, 5..8, 8..10, 18..31, 100..101, 12..14] {
            add_range(&mut ranges, range);
        }
        assert_eq!(ranges, BTreeMap::from([(5, 40), (100, 101)]));
    }

    #[test]
    fn ranges_of_adjacent_blocks_are_one_run() {
        let ranges = BTreeMap::from([(0, 10), (700, 800), (1023, 1025), (2100, 2200)]);
        assert_eq!(runs(&ranges), [0..1025, 2100..2200]);
    }
}
