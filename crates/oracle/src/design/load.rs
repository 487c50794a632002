//! Loads: the entries that a walk or another structure brings.

use super::entries::{SlowEntries, SlowEntry};
use super::{SlowBlocks, SlowCheck, SlowCounts, SlowForm, SlowFrames, SlowModified};
use super::{SlowPage, SlowValid};

/// A reader of the page table of the space.
pub(super) type SlowReader<'r> = &'r dyn Fn(u64) -> Option<SlowPage>;

/// The source of a translation.
#[derive(Clone, Copy)]
pub(super) enum SlowSource<'r> {
    /// A walk of the page table.
    Table(SlowReader<'r>),
    /// An entry of another structure, with these pages.
    Entry(&'r [SlowPage]),
}

impl SlowSource<'_> {
    fn read(&self, space: u32, page: u64) -> Option<SlowPage> {
        match self {
            SlowSource::Table(read) => read(page),
            SlowSource::Entry(pages) => pages
                .iter()
                .copied()
                .find(|other| other.covers(space, page)),
        }
    }
}

impl SlowEntries {
    /// Loads the translation of a page.
    pub(super) fn load(
        &mut self,
        page: u64,
        new: SlowPage,
        source: SlowSource<'_>,
        counts: &mut SlowCounts,
    ) {
        let Some(set) = self.set_of(page, new.pages) else {
            return;
        };
        match self.of.form {
            SlowForm::Pages { .. } => {
                let entry = SlowEntry {
                    space: new.space,
                    first: new.first,
                    step: new.pages,
                    slots: vec![Some(new)],
                };
                self.insert(set, entry);
            }
            SlowForm::Blocks(blocks) => self.load_block(set, page, new, source, &blocks, counts),
        }
    }

    fn load_block(
        &mut self,
        set: usize,
        page: u64,
        new: SlowPage,
        source: SlowSource<'_>,
        blocks: &SlowBlocks,
        counts: &mut SlowCounts,
    ) {
        let smallest = self.of.sizes[0].0;
        let count = blocks.subblocks;
        let step = match blocks.own {
            true => new.pages,
            // A superpage that is larger than a block fills all subblocks (section 3.5).
            false => smallest.max(new.pages / count),
        };
        let mut entry = SlowEntry {
            space: new.space,
            first: page / (step * count) * (step * count),
            step,
            slots: vec![None; count as usize],
        };
        let size = entry.pages();
        let Some(missing) = entry.slot_of(new.space, page) else {
            unreachable!("the block surrounds the page");
        };
        // The page, and the subblocks that its superpage covers, if one entry can express them
        // (appendix H).
        let missing_page = (entry.first_of(missing), new);
        let is_whole = new.pages == size;
        let is_aligned = is_whole
            || blocks.frames != SlowFrames::Placed
            || SlowBlocks::is_placed(size, missing_page);
        for slot in 0..entry.slots.len() {
            let is_covered = is_aligned && new.covers(new.space, entry.first_of(slot));
            if slot == missing || is_covered {
                entry.slots[slot] = Some(new);
            }
        }
        let known: Vec<u64> = self.of_block(set, &entry);
        let preloads = blocks.preload && (known.is_empty() || !blocks.page_alone);
        let is_walk = matches!(source, SlowSource::Table(_));
        if preloads && blocks.can_share(size, missing_page) {
            let mut others = vec![None; entry.slots.len()];
            for (slot, neighbour) in others.iter_mut().enumerate() {
                if entry.slots[slot].is_some() {
                    continue;
                }
                counts.table_reads += u64::from(is_walk);
                let at = entry.first_of(slot);
                let fits = |other: &SlowPage| {
                    let one_size = !blocks.own || other.pages == new.pages;
                    let compatible = blocks.are_compatible(size, missing_page, (at, *other));
                    self.holds_size(other.pages) && one_size && compatible
                };
                *neighbour = source.read(new.space, at).filter(fits);
            }
            preload(blocks, &mut entry, missing, &others);
        }
        // What another structure held joins what the block has.
        let is_anew = preloads && is_walk;
        if is_anew && blocks.frames == SlowFrames::Any {
            // No two entries of a complete-subblock TLB have one tag (section 4.4).
            for id in known {
                self.lost.extend(self.entries[&id].translations());
                self.remove(id);
            }
        }
        self.enter(set, &entry, !is_anew, blocks, counts);
    }

    /// The entries of the set for the same block, lowest way first.
    fn of_block(&self, set: usize, new: &SlowEntry) -> Vec<u64> {
        let is_of_block = |id: &u64| {
            let old = &self.entries[id];
            (old.space, old.first, old.step) == (new.space, new.first, new.step)
        };
        self.sets[set].keys().filter(is_of_block).collect()
    }

    /// Enters pages: into an existing entry or as a new one.
    pub(super) fn enter(
        &mut self,
        set: usize,
        new: &SlowEntry,
        may_join: bool,
        blocks: &SlowBlocks,
        counts: &mut SlowCounts,
    ) {
        let mut candidates = self.of_block(set, new);
        match blocks.check {
            SlowCheck::Full => {}
            SlowCheck::FirstTag => candidates.truncate(1),
            SlowCheck::Never => candidates.clear(),
        }
        candidates.retain(|id| may_join && joins(blocks, &self.entries[id], new));
        let joined = candidates.first().copied();
        // No page has two entries (section 4.4).
        for id in self.sets[set].keys().collect::<Vec<u64>>() {
            if Some(id) != joined {
                self.drop_duplicates(id, new, blocks);
            }
        }
        let id = match joined {
            Some(id) => {
                let mut entry = self.entries[&id].clone();
                for slot in 0..entry.slots.len() {
                    if let Some(page) = new.slots[slot] {
                        let old = entry.slots[slot].replace(page);
                        self.lost.extend(old);
                    }
                }
                self.entries.insert(id, entry);
                self.sets[set].hit(self.of.rule, id);
                id
            }
            None => self.insert(set, new.clone()),
        };
        if let Some(entry) = self.entries.get_mut(&id)
            && blocks.modified == SlowModified::Block
            && entry.translations().iter().any(|page| page.modified)
        {
            entry.mark_all(counts);
        }
    }

    fn drop_duplicates(&mut self, id: u64, new: &SlowEntry, blocks: &SlowBlocks) {
        let mut entry = self.entries[&id].clone();
        for slot in 0..entry.slots.len() {
            let mut pages = entry.first_of(slot)..entry.first_of(slot) + entry.step;
            let is_double = pages.any(|page| {
                let place = new.slot_of(entry.space, page);
                place.is_some_and(|place| new.slots[place].is_some())
            });
            if is_double {
                self.lost.extend(entry.slots[slot].take());
            }
        }
        self.entries.insert(id, entry);
        self.settle(id, blocks);
    }

    /// A new entry takes the place of another.
    pub(super) fn insert(&mut self, set: usize, entry: SlowEntry) -> u64 {
        let before: Vec<u64> = self.sets[set].keys().collect();
        let id = self.next;
        self.next += 1;
        self.sets[set].insert(self.of.rule, &mut self.numbers, id);
        self.entries.insert(id, entry);
        let after: Vec<u64> = self.sets[set].keys().collect();
        for gone in before.into_iter().filter(|old| !after.contains(old)) {
            self.lost.extend(self.entries[&gone].translations());
            self.entries.remove(&gone);
        }
        id
    }
}

/// Adds the neighbours that the valid bits can express to an entry.
fn preload(
    blocks: &SlowBlocks,
    entry: &mut SlowEntry,
    missing: usize,
    others: &[Option<SlowPage>],
) {
    let has = |entry: &SlowEntry, slot: usize| entry.slots[slot].or(others[slot]);
    match blocks.valid {
        SlowValid::Vector => {
            for slot in 0..others.len() {
                entry.slots[slot] = has(entry, slot);
            }
        }
        SlowValid::Run => {
            for slot in missing..others.len() {
                let Some(page) = has(entry, slot) else { break };
                entry.slots[slot] = Some(page);
            }
            for slot in (0..missing).rev() {
                let Some(page) = has(entry, slot) else { break };
                entry.slots[slot] = Some(page);
            }
        }
        SlowValid::Whole => {
            if (0..others.len()).all(|slot| has(entry, slot).is_some()) {
                for slot in 0..others.len() {
                    entry.slots[slot] = has(entry, slot);
                }
            }
        }
    }
}

/// Returns true if pages can join an entry: each is compatible with each that is there, and the
/// valid bits can express all.
fn joins(blocks: &SlowBlocks, old: &SlowEntry, new: &SlowEntry) -> bool {
    let mut all = old.clone();
    for slot in 0..new.slots.len() {
        let Some(page) = new.slots[slot] else {
            continue;
        };
        for other in 0..old.slots.len() {
            let Some(known) = old.slots[other] else {
                continue;
            };
            let (page, known) = ((new.first_of(slot), page), (old.first_of(other), known));
            if !blocks.are_compatible(new.pages(), page, known) {
                return false;
            }
        }
        all.slots[slot] = Some(page);
    }
    blocks.can_express(&all.slots)
}
