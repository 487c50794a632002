//! The entries of one structure: lookups, stores and removals.

use std::collections::BTreeMap;

use super::{
    SlowBlocks, SlowCounts, SlowForm, SlowModified, SlowPage, SlowProbes, SlowReference,
    SlowStructure,
};
use crate::drawn::DrawnNumbers;
use crate::replacement::SlowSet;

/// An entry: slots of equally many pages.
#[derive(Clone, Debug)]
pub(super) struct SlowEntry {
    pub(super) space: u32,
    /// The first page.
    pub(super) first: u64,
    /// The number of pages of a slot.
    pub(super) step: u64,
    pub(super) slots: Vec<Option<SlowPage>>,
}

/// The answer of a structure.
pub(super) enum SlowFound {
    /// The page as it was before a store.
    Page(SlowPage),
    Block,
    Nothing,
}

/// A structure with its entries.
pub(super) struct SlowEntries {
    pub(super) of: SlowStructure,
    pub(super) numbers: DrawnNumbers,
    /// The numbers of the entries of each set.
    pub(super) sets: Vec<SlowSet<u64>>,
    pub(super) entries: BTreeMap<u64, SlowEntry>,
    pub(super) next: u64,
    /// Translations that left an entry, in the order of the events.
    pub(super) lost: Vec<SlowPage>,
}

impl SlowEntry {
    pub(super) fn pages(&self) -> u64 {
        self.step * self.slots.len() as u64
    }

    pub(super) fn first_of(&self, slot: usize) -> u64 {
        self.first + slot as u64 * self.step
    }

    pub(super) fn slot_of(&self, space: u32, page: u64) -> Option<usize> {
        let pages = |slot: usize| self.first_of(slot)..self.first_of(slot) + self.step;
        let mut slots = 0..self.slots.len();
        slots.find(|slot| self.space == space && pages(*slot).contains(&page))
    }

    /// The translations, each once.
    pub(super) fn translations(&self) -> Vec<SlowPage> {
        let mut all: Vec<SlowPage> = Vec::new();
        for page in self.slots.iter().flatten() {
            if !all.iter().any(|known| known.name() == page.name()) {
                all.push(*page);
            }
        }
        all
    }

    /// Sets the modified bit of a translation, and returns true if it was clear.
    fn mark(&mut self, name: (u32, u64, u64)) -> bool {
        let mut was_clear = false;
        for page in self.slots.iter_mut().flatten() {
            if page.name() == name {
                was_clear |= !page.modified;
                page.modified = true;
            }
        }
        was_clear
    }

    /// Marks every translation.
    pub(super) fn mark_all(&mut self, counts: &mut SlowCounts) {
        for page in self.translations() {
            counts.marked_pages += u64::from(self.mark(page.name()));
        }
    }
}

impl SlowEntries {
    pub(super) fn new(of: SlowStructure) -> Self {
        Self {
            numbers: of.rule.numbers(),
            sets: vec![SlowSet::new(of.ways, of.wired); of.sets],
            entries: BTreeMap::new(),
            next: 0,
            lost: Vec::new(),
            of,
        }
    }

    pub(super) fn holds_size(&self, pages: u64) -> bool {
        self.of.sizes.iter().any(|(size, _)| *size == pages)
    }

    /// The sizes that a lookup distinguishes, in the order of the probes.
    pub(super) fn probed_sizes(&self) -> Vec<u64> {
        let mut sizes: Vec<u64> = self.of.sizes.iter().map(|(size, _)| *size).collect();
        if let SlowForm::Blocks(blocks) = self.of.form
            && !blocks.own
        {
            // Pages that are larger than a block lie in sets of their own index.
            let block = sizes[0] * blocks.subblocks;
            let smallest = sizes[0];
            sizes.retain(|size| *size == smallest || self.of.sets > 1 && *size > block);
        }
        if self.of.probes != SlowProbes::SmallestFirst {
            sizes.reverse();
        }
        sizes
    }

    pub(super) fn set_of(&self, page: u64, size: u64) -> Option<usize> {
        let mut sizes = self.of.sizes.iter();
        let (_, with_one_index) = sizes.find(|(held, _)| *held == size)?;
        Some((page / with_one_index) as usize % self.of.sets)
    }

    /// All translations.
    pub(super) fn all(&self) -> Vec<SlowPage> {
        let entries = self.entries.values();
        entries.flat_map(SlowEntry::translations).collect()
    }

    pub(super) fn has(&self, name: (u32, u64, u64)) -> bool {
        self.all().iter().any(|page| page.name() == name)
    }

    pub(super) fn find(
        &mut self,
        (space, page): (u32, u64),
        kind: SlowReference,
        size: u64,
        counts: &mut SlowCounts,
    ) -> SlowFound {
        let Some(set) = self.set_of(page, size) else {
            return SlowFound::Nothing;
        };
        let mut found = SlowFound::Nothing;
        for id in self.sets[set].keys().collect::<Vec<u64>>() {
            let entry = &self.entries[&id];
            let shares = match self.of.form {
                SlowForm::Pages { .. } => entry.step == size,
                SlowForm::Blocks(blocks) if blocks.own => entry.step == size,
                SlowForm::Blocks(blocks) => {
                    let block = self.of.sizes[0].0 * blocks.subblocks;
                    self.of.sets == 1 || entry.pages() == size.max(block)
                }
            };
            let Some(slot) = entry.slot_of(space, page).filter(|_| shares) else {
                continue;
            };
            let Some(page) = entry.slots[slot] else {
                found = SlowFound::Block;
                continue;
            };
            self.sets[set].hit(self.of.rule, id);
            if kind == SlowReference::Store && !page.modified {
                let counted = !matches!(self.of.form, SlowForm::Pages { faults: false });
                counts.modified_faults += u64::from(counted);
                self.modify(set, id, page, counts);
            }
            return SlowFound::Page(page);
        }
        found
    }

    /// Sets the modified bit of a page wherever an entry has it.
    pub(super) fn modify_all(&mut self, page: SlowPage, counts: &mut SlowCounts) {
        for set in 0..self.sets.len() {
            let clean = |of: &Self| {
                let is_clean = |id: &u64| {
                    let mut pages = of.entries[id].slots.iter().flatten();
                    pages.any(|other| other.name() == page.name() && !other.modified)
                };
                of.sets[set].keys().find(is_clean)
            };
            while let Some(id) = clean(self) {
                self.modify(set, id, page, counts);
            }
        }
    }

    /// Sets the modified bit of a page of an entry.
    fn modify(&mut self, set: usize, id: u64, page: SlowPage, counts: &mut SlowCounts) {
        let mut entry = self.entries[&id].clone();
        entry.mark(page.name());
        if let SlowForm::Blocks(blocks) = self.of.form {
            match blocks.modified {
                SlowModified::Page => {}
                SlowModified::Block => entry.mark_all(counts),
                SlowModified::Attribute if entry.translations().len() == 1 => {}
                SlowModified::Attribute => {
                    let mut own = entry.clone();
                    for slot in 0..entry.slots.len() {
                        let is_it = entry.slots[slot].is_some_and(|at| at.name() == page.name());
                        let other = if is_it { &mut entry } else { &mut own };
                        other.slots[slot] = None;
                    }
                    self.entries.insert(id, entry);
                    self.settle(id, &blocks);
                    self.enter(set, &own, true, &blocks, counts);
                    return;
                }
            }
        }
        self.entries.insert(id, entry);
    }

    /// Removes an entry that is empty. An entry whose valid bits cannot express its pages loses
    /// them first.
    pub(super) fn settle(&mut self, id: u64, blocks: &SlowBlocks) {
        let entry = &self.entries[&id];
        if !blocks.can_express(&entry.slots) {
            self.lost.extend(entry.translations());
            self.remove(id);
        } else if entry.translations().is_empty() {
            self.remove(id);
        }
    }

    pub(super) fn remove(&mut self, id: u64) {
        self.entries.remove(&id);
        for set in &mut self.sets {
            set.remove(|key| key == id);
        }
    }

    /// Removes the translations for which `goes` is true. Others that go with them are lost.
    pub(super) fn drop(&mut self, goes: impl Fn(&SlowPage) -> bool) {
        for id in self.entries.keys().copied().collect::<Vec<u64>>() {
            if let Some(entry) = self.entries.get_mut(&id) {
                for slot in &mut entry.slots {
                    *slot = slot.filter(|page| !goes(page));
                }
            }
            match self.of.form {
                SlowForm::Blocks(blocks) => self.settle(id, &blocks),
                SlowForm::Pages { .. } => {
                    if self.entries[&id].translations().is_empty() {
                        self.remove(id);
                    }
                }
            }
        }
    }
}
