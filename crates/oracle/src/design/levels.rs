//! The levels of a TLB: lookups, walks, and the ways of translations from one level to another.

use super::entries::{SlowEntries, SlowEntry, SlowFound};
use super::load::{SlowReader, SlowSource};
use super::walks::TABLES;
use super::{
    SlowCounts, SlowFills, SlowForm, SlowFrames, SlowPage, SlowProbes, SlowReference, SlowStructure,
};

/// A TLB of structures.
pub struct ListedTlb {
    pub(super) structures: Vec<SlowEntries>,
    /// The last turns of structures: level, size, structure, oldest first.
    turns: Vec<(usize, u64, usize)>,
    pub(super) counts: SlowCounts,
    /// Translations that left a structure since the last report.
    left: Vec<(u32, u64, u64)>,
}

/// The names of translations: space, first page, number of pages.
pub type SlowNames = Vec<(u32, u64, u64)>;

impl ListedTlb {
    /// An empty TLB.
    pub fn new(structures: &[SlowStructure]) -> Self {
        let structures = structures.iter().cloned();
        Self {
            structures: structures.map(SlowEntries::new).collect(),
            turns: Vec::new(),
            counts: SlowCounts::default(),
            left: Vec::new(),
        }
    }

    /// The counts.
    pub const fn counts(&self) -> SlowCounts {
        self.counts
    }

    /// The number of entries in use.
    pub fn occupied(&self) -> usize {
        let structures = self.structures.iter();
        structures.map(|structure| structure.entries.len()).sum()
    }

    /// Gives the structures the next use of the translation that is looked up now.
    pub fn foresee(&mut self, next_use: u64) {
        let sets = self.structures.iter_mut().flat_map(|of| &mut of.sets);
        sets.for_each(|set| set.foresee(next_use));
    }

    /// Looks a page up. Returns the level that has it, and what was evicted.
    pub fn access(&mut self, at: (u32, u64), kind: SlowReference) -> (Option<usize>, SlowNames) {
        self.and_evictions(|tlb| tlb.find(at, kind))
    }

    /// Walks the page table, loads the translation into the levels, and returns the evicted
    /// entries. `spans` has a number for each level of the page table above the base pages: how
    /// many 4 KiB pages one entry of that level covers.
    pub fn load(
        &mut self,
        (page, kind): (u64, SlowReference),
        new: SlowPage,
        read: SlowReader<'_>,
        spans: &[u64],
    ) -> SlowNames {
        let load = |tlb: &mut Self| {
            tlb.go_down((new.space, page), new.pages, spans);
            for level in 1..=3 {
                tlb.load_level(level, (page, kind), new, SlowSource::Table(read));
            }
            tlb.prefetch(kind, new, read);
        };
        self.and_evictions(load).1
    }

    /// Removes translations.
    pub fn remove(&mut self, goes: impl Fn(&SlowPage) -> bool) {
        let before = self.names();
        for number in 0..self.structures.len() {
            self.structures[number].drop(&goes);
        }
        for number in 0..self.structures.len() {
            self.settle(number);
        }
        let page = |name: &(u32, u64, u64)| SlowPage {
            space: name.0,
            first: name.1,
            pages: name.2,
            frame: None,
            rights: 0,
            modified: false,
        };
        self.left.extend(before);
        self.left.retain(|name| !goes(&page(name)));
        let after = self.names();
        self.left.retain(|name| !after.contains(name));
    }

    /// The names of all translations of pages.
    fn names(&self) -> SlowNames {
        let all = self.structures.iter().flat_map(SlowEntries::all);
        let pages = all.filter(|page| page.space < TABLES);
        let mut names: Vec<_> = pages.map(|page| page.name()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn and_evictions<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> (T, SlowNames) {
        let mut before = self.names();
        before.append(&mut self.left);
        before.sort_unstable();
        before.dedup();
        let result = work(self);
        // A translation can come and go in one operation: a run that preloading brought breaks if
        // an inclusive level loses one of its pages.
        before.append(&mut self.left);
        before.sort_unstable();
        before.dedup();
        let after = self.names();
        before.retain(|name| !after.contains(name));
        (result, before)
    }

    fn find(&mut self, at: (u32, u64), kind: SlowReference) -> Option<usize> {
        let mut has_block = false;
        for level in 1..=3 {
            let numbers = 0..self.structures.len();
            let numbers: Vec<usize> = numbers
                .filter(|number| {
                    let of = &self.structures[*number].of;
                    of.level == level && of.serves.contains(&kind)
                })
                .collect();
            let mut probes: Vec<(u64, usize)> = Vec::new();
            for &number in &numbers {
                let sizes = self.structures[number].probed_sizes();
                probes.extend(sizes.into_iter().map(|size| (size, number)));
            }
            // The largest size comes first, and each structure takes its sizes in its own order.
            probes.sort_by_key(|(size, number)| (u64::MAX - size, *number));
            for &number in &numbers {
                let mut own = self.structures[number].probed_sizes().into_iter();
                for probe in probes.iter_mut().filter(|probe| probe.1 == number) {
                    probe.0 = own.next().unwrap_or(probe.0);
                }
            }
            let mut hit = None;
            for (size, number) in probes {
                let structure = &mut self.structures[number];
                match structure.find(at, kind, size, &mut self.counts) {
                    SlowFound::Page(page) => {
                        hit = Some((size, number, page));
                        break;
                    }
                    SlowFound::Block => has_block = true,
                    SlowFound::Nothing => {}
                }
            }
            for number in numbers {
                if self.structures[number].of.probes == SlowProbes::Parallel {
                    continue;
                }
                let sizes = self.structures[number].probed_sizes();
                let mut further = sizes.len() - 1;
                if let Some((size, hitting, _)) = hit
                    && hitting == number
                {
                    further = sizes.iter().position(|one| *one == size).unwrap_or(0);
                }
                self.counts.extra_probes += further as u64;
            }
            if let Some((_, number, mut page)) = hit {
                self.settle(number);
                if kind == SlowReference::Store && !page.modified {
                    page.modified = true;
                    for copies in 0..self.structures.len() {
                        self.structures[copies].modify_all(page, &mut self.counts);
                        self.settle(copies);
                    }
                }
                self.raise(number, at.1, page, kind);
                return Some(level);
            }
        }
        self.counts.subblock_misses += u64::from(has_block);
        None
    }

    /// Brings a translation that a structure held to the levels above.
    fn raise(&mut self, from: usize, page: u64, found: SlowPage, kind: SlowReference) {
        let of = &self.structures[from].of;
        let (level, fills) = (of.level, of.fills);
        match fills {
            SlowFills::Walks => {}
            SlowFills::Victims => self.counts.victim_hits += 1,
            SlowFills::Prefetches => self.counts.prefetch_hits += 1,
        }
        let mut above: Vec<usize> = (1..level).collect();
        if level == 1 && fills == SlowFills::Prefetches {
            above.push(1);
        }
        let goes_up = above.iter().any(|above| {
            let takers = self.takers(*above, kind, found.pages);
            !takers.is_empty()
        });
        if fills != SlowFills::Walks && goes_up {
            self.structures[from].drop(|other| other.name() == found.name());
            self.settle(from);
        }
        // Pages that share a frame number go up together. Those of a buffer go one by one.
        let mut entries = self.structures[from].entries.values();
        let hit = entries.find(|entry| {
            let slot = entry.slot_of(found.space, page);
            let held = slot.and_then(|slot| entry.slots[slot]);
            held.is_some_and(|held| held.name() == found.name())
        });
        let shares = match self.structures[from].of.form {
            SlowForm::Blocks(blocks) => blocks.frames != SlowFrames::Any,
            SlowForm::Pages { .. } => false,
        };
        let hit = hit.filter(|_| shares && fills == SlowFills::Walks);
        let pages = hit.map_or_else(Vec::new, SlowEntry::translations);
        for above in above {
            self.load_level(above, (page, kind), found, SlowSource::Entry(&pages));
        }
    }

    /// The structures of a level that walks of a reference fill with a page of the size.
    fn takers(&self, level: usize, kind: SlowReference, pages: u64) -> Vec<usize> {
        let takes = |number: &usize| {
            let structure = &self.structures[*number];
            let of = &structure.of;
            let fits = of.level == level && of.serves.contains(&kind);
            fits && of.fills == SlowFills::Walks && structure.holds_size(pages)
        };
        (0..self.structures.len()).filter(takes).collect()
    }

    /// Loads a translation into a structure of the level: the one whose turn it is, if several
    /// hold the size.
    fn load_level(
        &mut self,
        level: usize,
        (page, kind): (u64, SlowReference),
        new: SlowPage,
        source: SlowSource<'_>,
    ) {
        let takers = self.takers(level, kind, new.pages);
        let last_turn = |number: &usize| {
            let turn = (level, new.pages, *number);
            self.turns.iter().rposition(|other| *other == turn)
        };
        let Some(number) = takers.iter().copied().min_by_key(last_turn) else {
            return;
        };
        let turn = (level, new.pages, number);
        self.turns.retain(|other| *other != turn);
        self.turns.push(turn);
        self.structures[number].load(page, new, source, &mut self.counts);
        self.settle(number);
    }

    fn prefetch(&mut self, kind: SlowReference, missing: SlowPage, read: SlowReader<'_>) {
        let is_buffer = |number: &usize| {
            let of = &self.structures[*number].of;
            of.fills == SlowFills::Prefetches && of.serves.contains(&kind)
        };
        let buffers: Vec<usize> = (0..self.structures.len()).filter(is_buffer).collect();
        if buffers.is_empty() {
            return;
        }
        self.counts.table_reads += 1;
        let page = missing.first + missing.pages;
        let Some(next) = read(page) else {
            return;
        };
        if self.names().contains(&next.name()) {
            return;
        }
        for number in buffers {
            let source = SlowSource::Table(read);
            self.structures[number].load(page, next, source, &mut self.counts);
            self.settle(number);
        }
    }

    /// Passes on what a structure lost: out of the levels that it includes, and to the structures
    /// of the next level that victims fill.
    pub(super) fn settle(&mut self, number: usize) {
        let mut lost = std::mem::take(&mut self.structures[number].lost);
        lost.retain(|page| page.space < TABLES);
        let of = self.structures[number].of.clone();
        for gone in lost {
            self.left.push(gone.name());
            if self.structures[number].has(gone.name()) {
                continue;
            }
            if of.inclusive {
                for above in 0..self.structures.len() {
                    let other = &self.structures[above].of;
                    let serves = other.serves.iter().any(|kind| of.serves.contains(kind));
                    if other.level < of.level && serves {
                        self.structures[above].drop(|page| page.name() == gone.name());
                        self.settle(above);
                    }
                }
            }
            for taker in 0..self.structures.len() {
                let other = &self.structures[taker].of;
                let serves = other.serves.iter().any(|kind| of.serves.contains(kind));
                let takes = other.fills == SlowFills::Victims && other.level == of.level + 1;
                if takes && serves && !self.structures[taker].has(gone.name()) {
                    let source = SlowSource::Entry(&[]);
                    self.structures[taker].load(gone.first, gone, source, &mut self.counts);
                    self.settle(taker);
                }
            }
        }
    }
}

impl SlowStructure {
    /// A structure of data that walks fill, of one level.
    pub fn alone(sets: usize, ways: usize, sizes: &[(u64, u64)], form: SlowForm) -> Self {
        Self {
            level: 1,
            sets,
            ways,
            sizes: sizes.to_vec(),
            form,
            rule: crate::RuleSpec::Lru,
            serves: vec![SlowReference::Load, SlowReference::Store],
            fills: SlowFills::Walks,
            inclusive: false,
            probes: SlowProbes::Parallel,
            wired: 0,
            walk_entries: Vec::new(),
        }
    }
}
