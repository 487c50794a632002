//! Sets of subblock entries: a block of pages shares a tag, and each page has a valid bit.

use super::compatibility::{ModifiedBits, SharedFrames, ValidBits, placed_block};
use super::subblock_entry::{SubblockEntry, can_express, check_pair};
use super::subblock_rules::{JoinCheck, SubblockMisses, SubblockRules};
use super::{Entries, Found};
use crate::{Compiled, ReplacementState, Structure, TlbLog, TlbRequest, Translation, Walk};
use broadleaf_units::{AlignedRun, PageNumber, PageSize};

/// Sets of subblock entries with any replacement rule.
#[derive(Clone, Debug)]
pub(super) struct SubblockSets {
    rules: SubblockRules,
    ways: usize,
    /// The number of subblocks of an entry.
    count: usize,
    /// The size of the pages that a subblock holds.
    base: PageSize,
    indices: Vec<(PageSize, Compiled)>,
    /// Set after set.
    entries: Vec<Option<SubblockEntry>>,
    replacement: ReplacementState,
}

impl SubblockSets {
    pub(super) fn new(structure: &Structure, rules: SubblockRules) -> Self {
        let base = structure.pages[0].0;
        let indices = structure.pages.iter();
        Self {
            rules,
            ways: structure.ways,
            count: 1 << rules.block.shift().saturating_sub(base.shift()),
            base,
            indices: indices
                .map(|(size, index)| (*size, index.compile()))
                .collect(),
            entries: vec![None; structure.entries],
            replacement: ReplacementState::new(structure),
        }
    }

    fn set_of(&self, page: PageNumber, size: PageSize) -> Option<usize> {
        let (_, index) = self.indices.iter().find(|(held, _)| *held == size)?;
        Some(index.set_of(page))
    }

    fn ways_of(&self, set: usize) -> std::ops::Range<usize> {
        set * self.ways..(set + 1) * self.ways
    }

    /// The pages of the entry that holds a page of this size.
    fn run_of(&self, page: PageNumber, size: PageSize) -> AlignedRun {
        let block = match self.rules.own_blocks {
            true => PageSize::from_shift(size.shift() + self.count.trailing_zeros() as u8),
            false => Some(size.max(self.rules.block)),
        };
        AlignedRun::around(page, block.unwrap_or(self.rules.block))
    }

    /// The entry, as positions of its subblocks, that a walk loads: the missing page, the other
    /// pages of its superpage, and those that are preloaded.
    fn entry_of(&self, walk: &Walk<'_>, preloads: bool, log: &mut TlbLog) -> SubblockEntry {
        let (page, new) = (walk.request.page, walk.translation);
        let mut entry = SubblockEntry {
            tag: walk.request.tag,
            run: self.run_of(page, new.size),
            pages: vec![None; self.count],
        };
        let (run, step) = (entry.run, entry.step());
        let missing = entry.subblock_of(page);
        entry.pages[missing] = Some(new);
        let page_at = |at: usize| PageNumber(run.first.0 + at as u64 * step);
        // The missing page comes first, then its neighbours, nearest first: a run of pages grows
        // from its middle.
        let mut others: Vec<usize> = (0..self.count).filter(|at| *at != missing).collect();
        others.sort_by_key(|at| at.abs_diff(missing));
        let shared = &self.rules.shared;
        let fits = |pages: &[Option<Translation>], at: usize, other: &Translation| {
            let pair = ((page_at(missing), &new), (page_at(at), other));
            shared.are_compatible(run, pair.0, pair.1) && shared.can_add(pages, at)
        };
        // A superpage that is not aligned with the block takes an entry for each page, unless each
        // page has its own low bits of the frame (Talluri 1995, appendix H).
        let is_aligned = shared.frames != SharedFrames::Placed
            || placed_block(run, page, &new).is_some()
            || run == new.run();
        for &at in &others {
            let covers = new.run().contains(page_at(at)) && new.size > self.base;
            if covers && is_aligned {
                entry.pages[at] = Some(new);
            }
        }
        if preloads && shared.can_share(run, page_at(missing), &new) {
            for &at in &others {
                if entry.pages[at].is_some() {
                    continue;
                }
                log.counts.table_reads += 1;
                let other = (walk.read)(page_at(at));
                let other = other.filter(|other| fits(&entry.pages, at, other));
                entry.pages[at] = other.filter(|other| self.may_share(&new, other));
            }
        }
        if shared.valid == ValidBits::All && entry.pages.iter().any(Option::is_none) {
            for page in &mut entry.pages {
                page.take_if(|page| !page.is_of_same_page(&new));
            }
        }
        entry
    }

    /// Returns true if the structure holds pages of both sizes, and in one entry.
    fn may_share(&self, new: &Translation, other: &Translation) -> bool {
        let mut held = self.indices.iter().map(|(size, _)| *size);
        if self.rules.own_blocks {
            other.size == new.size
        } else {
            other.size <= self.rules.block && held.any(|size| size == other.size)
        }
    }

    /// The way of the entry that the pages of a new entry can join.
    fn joined(&self, set: usize, new: &SubblockEntry) -> Option<usize> {
        let mut ways = self.ways_of(set).filter(|way| {
            let found = self.entries[*way].as_ref();
            found.is_some_and(|entry| (entry.tag, entry.run) == (new.tag, new.run))
        });
        let joins = |way: &usize| {
            let entry = self.entries[*way].as_ref();
            entry.is_some_and(|entry| self.can_join(entry, new))
        };
        match self.rules.check {
            JoinCheck::Full => ways.find(joins),
            JoinCheck::FirstTag => ways.next().filter(joins),
            JoinCheck::Never => None,
        }
    }

    /// Returns true if the pages of a new entry can join an entry: its fields are those of the pages
    /// that it has, also of those that the new ones replace (Talluri 1995, appendix G).
    fn can_join(&self, entry: &SubblockEntry, new: &SubblockEntry) -> bool {
        let (run, shared) = (entry.run, &self.rules.shared);
        if shared.valid == ValidBits::All {
            return false;
        }
        let fits = |page| {
            entry
                .used()
                .all(|known| shared.are_compatible(run, page, known))
        };
        let both = entry.pages.iter().zip(&new.pages);
        let both: Vec<_> = both.map(|(page, new)| new.or(*page)).collect();
        new.used().all(fits) && can_express(shared.valid, &both)
    }

    /// Drops pages of other entries of the set that an entry is about to hold.
    fn drop_doubles(
        &mut self,
        set: usize,
        new: &SubblockEntry,
        spare: Option<usize>,
        log: &mut TlbLog,
    ) {
        let step = new.step();
        let runs = (0_u64..).zip(&new.pages).filter(|(_, page)| page.is_some());
        let runs: Vec<u64> = runs.map(|(at, _)| new.run.first.0 + at * step).collect();
        let doubled = |first: u64, pages: u64| {
            runs.iter()
                .any(|start| *start < first + pages && first < start + step)
        };
        for way in self.ways_of(set).filter(|way| Some(*way) != spare) {
            let Some(entry) = &mut self.entries[way] else {
                continue;
            };
            if entry.tag != new.tag {
                continue;
            }
            let (first, step) = (entry.run.first.0, entry.step());
            for (at, page) in (0_u64..).zip(&mut entry.pages) {
                let gone = page.take_if(|_| doubled(first + at * step, step));
                log.evicted.extend(gone);
            }
            self.settle(way, log);
        }
    }

    /// Settles an entry that lost pages: valid bits that cannot express the rest lose the rest
    /// too, and an empty entry goes.
    fn settle(&mut self, way: usize, log: &mut TlbLog) {
        let valid = self.rules.shared.valid;
        if let Some(entry) = &mut self.entries[way]
            && !can_express(valid, &entry.pages)
        {
            log.evicted.extend(entry.translations());
            entry.pages.fill(None);
        }
        let is_empty = |entry: &mut SubblockEntry| entry.pages.iter().all(Option::is_none);
        if self.entries[way].take_if(|entry| is_empty(entry)).is_some() {
            self.replacement.drop_way(way / self.ways, way % self.ways);
        }
    }

    /// Enters pages: into an entry that they can join, or as a new entry.
    fn enter(&mut self, set: usize, new: SubblockEntry, may_join: bool, log: &mut TlbLog) {
        let joined = may_join.then(|| self.joined(set, &new)).flatten();
        self.drop_doubles(set, &new, joined, log);
        let way = match joined {
            Some(way) => {
                if let Some(entry) = &mut self.entries[way] {
                    for (page, new) in entry.pages.iter_mut().zip(new.pages) {
                        if let Some(new) = new {
                            log.evicted.extend(page.replace(new));
                        }
                    }
                }
                self.replacement.hit(set, way % self.ways);
                way
            }
            None => {
                let way = self.replacement.choose(set);
                self.replacement.fill(set, way);
                let gone = self.entries[set * self.ways + way].replace(new);
                log.evicted
                    .extend(gone.iter().flat_map(SubblockEntry::translations));
                set * self.ways + way
            }
        };
        if self.rules.shared.modified == ModifiedBits::Block
            && let Some(entry) = &mut self.entries[way]
            && entry.pages.iter().flatten().any(|page| page.modified)
        {
            entry.mark_all(log);
        }
    }

    /// Loads a page, and its neighbours if `preloads` is true.
    fn load_block(&mut self, walk: &Walk<'_>, preloads: bool, log: &mut TlbLog) {
        let (page, size) = (walk.request.page, walk.translation.size);
        let Some(set) = self.set_of(page, size) else {
            return;
        };
        let run = self.run_of(page, size);
        let has_run = |entry: &SubblockEntry| (entry.tag, entry.run) == (walk.request.tag, run);
        let mut ways = self.entries[self.ways_of(set)].iter().flatten();
        let is_again = ways.any(has_run);
        let preloaded = preloads && !(is_again && self.rules.again == SubblockMisses::LoadPage);
        let new = self.entry_of(walk, preloaded, log);
        if preloaded && is_again && self.rules.shared.frames == SharedFrames::None {
            // No two entries have one tag.
            for way in self.ways_of(set) {
                if let Some(gone) = self.entries[way].take_if(|entry| has_run(entry)) {
                    self.replacement.drop_way(set, way % self.ways);
                    log.evicted.extend(gone.translations());
                }
            }
        }
        self.enter(set, new, !preloaded, log);
    }

    /// A store hit a page whose modified bit is clear.
    fn modify(&mut self, set: usize, way: usize, at: usize, log: &mut TlbLog) {
        log.counts.modified_faults += 1;
        let Some(entry) = &mut self.entries[way] else {
            return;
        };
        let Some(stored) = entry.pages[at] else {
            return;
        };
        entry.mark(&stored);
        match self.rules.shared.modified {
            ModifiedBits::Page => {}
            ModifiedBits::Block => entry.mark_all(log),
            // The page leaves the clean pages. One page has an entry of its own either way.
            ModifiedBits::Attribute => {
                if entry.translations().len() > 1 {
                    let mut own = entry.clone();
                    for (own, page) in own.pages.iter_mut().zip(&mut entry.pages) {
                        *own = page.take_if(|page| page.is_of_same_page(&stored));
                    }
                    self.settle(way, log);
                    self.enter(set, own, true, log);
                }
            }
        }
    }
}

impl Entries for SubblockSets {
    fn find(&mut self, request: &TlbRequest, size: PageSize, log: &mut TlbLog) -> Found {
        // An entry holds pages of several sizes, unless each size has blocks of its own.
        if !self.rules.own_blocks && size != self.base {
            return Found::Nothing;
        }
        let Some(set) = self.set_of(request.page, size) else {
            return Found::Nothing;
        };
        let mut found = Found::Nothing;
        for way in self.ways_of(set) {
            let Some(entry) = &self.entries[way] else {
                continue;
            };
            if entry.tag != request.tag || !entry.run.contains(request.page) {
                continue;
            }
            if self.rules.own_blocks && entry.run != self.run_of(request.page, size) {
                continue;
            }
            let at = entry.subblock_of(request.page);
            let Some(page) = entry.pages[at] else {
                found = Found::Block;
                continue;
            };
            self.replacement.hit(set, way % self.ways);
            if request.is_store() && !page.modified {
                self.modify(set, way, at, log);
            }
            let modified = page.modified || request.is_store();
            return Found::Hit(Translation { modified, ..page });
        }
        found
    }

    fn load(&mut self, walk: &Walk<'_>, log: &mut TlbLog) {
        self.load_block(walk, self.rules.preload, log);
    }

    fn receive(&mut self, request: &TlbRequest, translation: &Translation, log: &mut TlbLog) {
        let walk = Walk {
            request: *request,
            translation: *translation,
            read: &|_| None,
        };
        self.load_block(&walk, false, log);
    }

    fn holds(&self, translation: &Translation) -> bool {
        let pages = self.entries.iter().flatten().flat_map(|entry| &entry.pages);
        pages
            .flatten()
            .any(|page| page.is_of_same_page(translation))
    }

    fn drop_stale(&mut self, stale: &mut dyn FnMut(&Translation) -> bool, log: &mut TlbLog) {
        for way in 0..self.entries.len() {
            if let Some(entry) = &mut self.entries[way] {
                for page in &mut entry.pages {
                    page.take_if(|page| stale(page));
                }
                self.settle(way, log);
            }
        }
    }

    fn foresee(&mut self, next: u64) {
        self.replacement.foresee(next);
    }

    fn repeat(&mut self, times: u64) {
        self.replacement.repeat(times);
    }

    fn occupied(&self) -> usize {
        self.entries.iter().flatten().count()
    }

    fn check(&self) {
        for set in self.entries.chunks(self.ways) {
            for (at, entry) in set.iter().enumerate() {
                let Some(entry) = entry else { continue };
                assert!(entry.pages.iter().any(Option::is_some), "an empty entry");
                for other in set[..at]
                    .iter()
                    .flatten()
                    .filter(|other| other.tag == entry.tag)
                {
                    let one_tag = self.rules.shared.frames == SharedFrames::None;
                    check_pair(entry, other, one_tag);
                }
            }
        }
    }

    fn copy(&self) -> Box<dyn Entries> {
        Box::new(self.clone())
    }
}
