//! Elastic cuckoo tables: three hashed ways for each page size, read at once.

use super::no_spans;
use crate::parts::cuckoo::{SLOT_BYTES, SLOT_PAGES, Slot, Ways};
use crate::parts::last_used::LastUsed;
use crate::{LevelSize, PageTable, PageTableChoice, PageTableKind, TableRead, TableSize};
use broadleaf_units::{
    AlignedRun, Described, Leaf, PageNumber, PageSize, SpaceId, StructureParameter,
};
use std::collections::BTreeMap;

pub(crate) static ELASTIC_CUCKOO: PageTableKind = PageTableKind {
    described: Described {
        name: "elastic-cuckoo",
        summary: "cuckoo hashing: three ways for each page size, which grow and shrink gradually",
        explanation: "A slot of 64 bytes holds a tag and the entries of eight neighbouring pages. \
                      A page size has three ways with a hash function each. A walk reads one slot \
                      of each way of each size that the address space has, all at once: they are \
                      several nodes and lines, and take the time of one. An insertion moves slots \
                      between ways. A way whose size doubles keeps its old half until each slot \
                      was moved: every insertion moves one, and a walk reads the half that has its \
                      slot. A walk cache can hold, for each 2 MiB used last, which page sizes are \
                      mapped there and which way has a superpage. A walk that finds its 2 MiB \
                      leaves out the other sizes, and the other ways of superpages. A walk that \
                      does not find them also reads an entry of 64 bytes of the table that has \
                      this for the whole space. The original has 16 entries; the memory of that \
                      table is not counted.",
        source: "Skarlatos and others 2020, Elastic Cuckoo Page Tables (ASPLOS)",
    },
    parameters: &[WALK_CACHE],
    build: |_, choice| Box::new(Cuckoo::new(choice)),
    spans: no_spans,
    cost_by_size: false,
};

/// The entries of the walk cache.
const WALK_CACHE: StructureParameter = StructureParameter::number(
    "walk-cache",
    (0, 4096),
    0,
    "the 2 MiB whose page sizes a walk knows, fully associative with LRU replacement",
);

/// The ways of all address spaces.
#[derive(Clone, Debug)]
struct Cuckoo {
    /// By space and page size.
    ways: BTreeMap<(SpaceId, PageSize), Ways>,
    /// The parts of 2 MiB whose page sizes are at hand; `None` without a walk cache.
    known: Option<LastUsed<(SpaceId, u64)>>,
}

/// The pages of 4 KiB of a part, as a power of two.
const PART_SHIFT: u32 = 9;
/// The region of the entries that have the page sizes of parts. All addresses are below 2^62.
const PARTS: u64 = 1 << 61;
/// The address bits of one space's parts, and the spaces with parts of their own.
const PARTS_SHIFT: u32 = 50;
const PARTS_SPACES: u32 = 1 << 10;

impl Cuckoo {
    fn new(choice: &PageTableChoice) -> Self {
        let entries = choice
            .number(WALK_CACHE.name)
            .filter(|entries| *entries > 0);
        Self {
            ways: BTreeMap::new(),
            known: entries.map(|entries| LastUsed::new(entries as usize)),
        }
    }

    /// Uses the part of a page. Returns true if the walk cache has the part. If there is a cache
    /// without it, the walk reads the part's entry.
    fn knows(
        &mut self,
        space: SpaceId,
        page: PageNumber,
        reads: &mut dyn FnMut(TableRead),
    ) -> bool {
        let part = page.0 >> PART_SHIFT;
        let Some(known) = &mut self.known else {
            return false;
        };
        if known.uses((space, part)) {
            return true;
        }
        let address =
            PARTS + (u64::from(space.0 % PARTS_SPACES) << PARTS_SHIFT) + part * SLOT_BYTES;
        reads(TableRead::of_node(address, SLOT_BYTES as u32));
        false
    }

    /// Drops the part of a page whose sizes changed.
    fn forget(&mut self, space: SpaceId, run: AlignedRun) {
        let (first, after) = run.bounds();
        let parts = first >> PART_SHIFT..=(after - 1) >> PART_SHIFT;
        if let Some(known) = &mut self.known {
            known.retain(|(of, part)| *of != space || !parts.contains(part));
        }
    }
}

/// The number of a page of a size, split into its slot and its place there.
fn slot_of(run: AlignedRun) -> (u64, usize) {
    let number = run.first.0 >> (run.size.shift() - PageSize::SIZE_4K.shift());
    (number / SLOT_PAGES, (number % SLOT_PAGES) as usize)
}

impl PageTable for Cuckoo {
    fn map(&mut self, space: SpaceId, leaf: Leaf) {
        let (number, place) = slot_of(leaf.run);
        self.forget(space, leaf.run);
        let ways = self.ways.entry((space, leaf.run.size));
        let ways = ways.or_insert_with(Ways::new);
        match ways.find(number) {
            Some(slot) => slot.leaves[place] = Some(leaf),
            None => {
                let mut leaves = [None; SLOT_PAGES as usize];
                leaves[place] = Some(leaf);
                ways.insert(Slot { number, leaves });
            }
        }
    }

    fn protect(&mut self, space: SpaceId, leaf: Leaf) {
        let (number, place) = slot_of(leaf.run);
        let ways = self.ways.get_mut(&(space, leaf.run.size));
        if let Some(slot) = ways.and_then(|ways| ways.find(number)) {
            slot.leaves[place] = Some(leaf);
        }
    }

    fn unmap(&mut self, space: SpaceId, run: AlignedRun) {
        let (number, place) = slot_of(run);
        self.forget(space, run);
        let Some(ways) = self.ways.get_mut(&(space, run.size)) else {
            return;
        };
        let is_empty = ways.find(number).is_some_and(|slot| {
            slot.leaves[place] = None;
            slot.leaves.iter().all(Option::is_none)
        });
        if is_empty {
            ways.remove(number);
            ways.work();
            if ways.used == 0 {
                self.ways.remove(&(space, run.size));
            }
        }
    }

    fn end(&mut self, space: SpaceId) {
        self.ways.retain(|(of, _), _| *of != space);
        if let Some(known) = &mut self.known {
            known.retain(|(of, _)| *of != space);
        }
    }

    fn walk(
        &mut self,
        space: SpaceId,
        page: PageNumber,
        reads: &mut dyn FnMut(TableRead),
    ) -> Option<Leaf> {
        let is_known = self.knows(space, page, reads);
        let own = (space, PageSize::SIZE_4K)..(SpaceId(space.0 + 1), PageSize::SIZE_4K);
        let sizes = self.ways.range(own);
        let mut found = None;
        for ((_, size), ways) in sizes {
            let (number, place) = slot_of(AlignedRun::around(page, *size));
            // The cache has the way of a superpage, and for smaller pages only that some are there.
            let is_superpage = size.shift() >= PageSize::SIZE_2M.shift();
            let has_pages = !is_superpage && ways.has_part(page, *size);
            let is_wanted = |has_page: bool| if is_superpage { has_page } else { has_pages };
            for (which, way) in ways.ways.iter().enumerate() {
                let (is_old, at) = way.place(number);
                let region = u64::from(size.shift()) * 8 + which as u64 * 2 + u64::from(is_old);
                let slot = way.at((is_old, at)).as_ref();
                let slot = slot.filter(|slot| slot.number == number);
                let leaf = slot.and_then(|slot| slot.leaves[place]);
                if is_known && !is_wanted(leaf.is_some()) {
                    continue;
                }
                let address = (region << 44) + (u64::from(space.0) << 36) + at as u64 * SLOT_BYTES;
                reads(TableRead::of_node(address, SLOT_BYTES as u32));
                found = found.or(leaf);
            }
        }
        found
    }

    fn size(&self) -> TableSize {
        let mut levels: BTreeMap<PageSize, LevelSize> = BTreeMap::new();
        for ((_, size), ways) in &self.ways {
            let level = levels.entry(*size).or_default();
            level.nodes += ways.used as u64;
            level.bytes += ways.slots() as u64 * SLOT_BYTES;
        }
        TableSize {
            levels: levels.into_values().collect(),
            fixed: 0,
        }
    }
}
