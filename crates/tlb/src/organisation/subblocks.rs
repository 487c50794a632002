//! Sets of subblock entries: a block of pages shares a tag, and each page has a valid bit.

mod entering;
mod keys;

use super::compatibility::{ModifiedBits, SharedFrames, ValidBits, placed_block};
use super::hints::WayHints;
use super::set_indices::SetIndices;
use super::subblock_entry::{SubblockEntry, check_pair};
use super::subblock_rules::SubblockRules;
use super::{Entries, EntryLookup};
use crate::{ReplacementState, Structure, TlbLog, TlbRequest, Translation, Walk};
use broadleaf_units::{AlignedRun, Asid, PageNumber, PageSize};

/// Sets of subblock entries with any replacement rule.
#[derive(Clone, Debug)]
pub(super) struct SubblockSets {
    rules: SubblockRules,
    ways: usize,
    /// The number of subblocks of an entry.
    count: usize,
    /// The size of the pages that a subblock holds.
    base: PageSize,
    indices: SetIndices,
    /// True if the structure has several sets, so that each set holds blocks of one size alone.
    has_sets: bool,
    /// Set after set.
    entries: Vec<Option<SubblockEntry>>,
    /// The key of each entry's block, so that a search of a set reads few entries. Two blocks may
    /// have one key. 0 if there is no entry.
    keys: Vec<u64>,
    /// The memory of an entry that left.
    unused: Vec<Option<Translation>>,
    /// The probable places of entries, by their blocks.
    hints: WayHints,
    replacement: ReplacementState,
    /// For each subblock, the others, nearest first: a run of pages grows from its middle.
    nearest: Vec<Box<[u8]>>,
}

/// The source of the pages beside a missing one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NeighbourSource {
    /// The page table.
    PageTable,
    /// The entry of another structure. Its pages join those of the block that are here.
    Structure,
}

/// What an entry holds of a page.
enum EntryHolds {
    /// The page.
    Page(Translation),
    /// The page's block, but not the page.
    Block,
    /// Neither.
    Nothing,
}

impl SubblockSets {
    pub(super) fn new(structure: &Structure, rules: SubblockRules) -> Self {
        let base = structure.pages[0].0;
        let count = 1_usize << rules.block.shift().saturating_sub(base.shift());
        let nearest = |missing: usize| {
            let mut others: Vec<usize> = (0..count).filter(|at| *at != missing).collect();
            others.sort_by_key(|at| at.abs_diff(missing));
            others.into_iter().map(|at| at as u8).collect()
        };
        Self {
            rules,
            ways: structure.ways,
            count,
            nearest: (0..count).map(nearest).collect(),
            base,
            indices: SetIndices::new(structure),
            has_sets: structure.sets() > 1,
            entries: vec![None; structure.entries],
            keys: vec![0; structure.entries],
            unused: Vec::new(),
            hints: WayHints::new(structure.entries),
            replacement: ReplacementState::new(structure),
        }
    }

    #[inline]
    fn ways_of(&self, set: usize) -> std::ops::Range<usize> {
        set * self.ways..(set + 1) * self.ways
    }

    /// The pages of the entry that holds a page of this size, or a walk entry.
    #[inline]
    fn run_of(&self, request: &TlbRequest, size: PageSize) -> AlignedRun {
        let page = request.page;
        if request.tag.is_of_tables() {
            return AlignedRun::around(page, size);
        }
        let block = match self.rules.own_blocks {
            true => PageSize::from_shift(size.shift() + self.count.trailing_zeros() as u8),
            false => Some(size.max(self.rules.block)),
        };
        AlignedRun::around(page, block.unwrap_or(self.rules.block))
    }

    /// The entry, as positions of its subblocks, that a walk loads: the missing page, the other
    /// pages of its superpage, and those that are preloaded.
    fn entry_of(&mut self, walk: &Walk<'_>, preloads: bool, log: &mut TlbLog) -> SubblockEntry {
        let mut pages = std::mem::take(&mut self.unused);
        pages.clear();
        pages.resize(self.count, None);
        let (page, new) = (walk.request.page, walk.translation);
        let mut entry = SubblockEntry {
            tag: walk.request.tag,
            run: self.run_of(&walk.request, new.size),
            pages,
        };
        let (run, step) = (entry.run, entry.step());
        let missing = entry.subblock_of(page);
        entry.pages[missing] = Some(new);
        let page_at = |at: usize| PageNumber(run.first.0 + at as u64 * step);
        // The missing page comes first, then its neighbours.
        let others = match preloads || new.size > self.base {
            true => &self.nearest[missing][..],
            false => &[],
        };
        let others = || others.iter().map(|at| usize::from(*at));
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
        for at in others() {
            let covers = new.run().contains(page_at(at)) && new.size > self.base;
            if covers && is_aligned {
                entry.pages[at] = Some(new);
            }
        }
        if preloads && shared.can_share(run, page_at(missing), &new) {
            for at in others() {
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
        if self.rules.own_blocks {
            other.size == new.size
        } else {
            other.size <= self.rules.block && self.indices.holds(other.size)
        }
    }

    /// Returns true if a lookup finds only entries whose run is that of the looked-up size.
    #[inline]
    const fn is_exact(&self, request: &TlbRequest) -> bool {
        self.rules.own_blocks || self.has_sets || request.tag.is_of_tables()
    }

    /// What an entry holds of a page of a size.
    #[inline]
    fn held(&self, way: usize, request: &TlbRequest, size: PageSize) -> EntryHolds {
        let Some(entry) = &self.entries[way] else {
            return EntryHolds::Nothing;
        };
        if entry.tag != request.tag || !entry.run.contains(request.page) {
            return EntryHolds::Nothing;
        }
        if self.is_exact(request) && entry.run != self.run_of(request, size) {
            return EntryHolds::Nothing;
        }
        entry.pages[entry.subblock_of(request.page)].map_or(EntryHolds::Block, EntryHolds::Page)
    }

    /// A lookup hits a page of an entry.
    fn hit(
        &mut self,
        set: usize,
        way: usize,
        request: &TlbRequest,
        page: Translation,
        log: &mut TlbLog,
    ) -> EntryLookup {
        self.replacement.hit(set, way % self.ways);
        if request.is_store() && !page.modified {
            log.counts.modified_faults += 1;
            self.modify(set, way, &page, log);
        }
        EntryLookup::Hit(page)
    }

    /// Sets the modified bit of a page of an entry.
    fn modify(&mut self, set: usize, way: usize, stored: &Translation, log: &mut TlbLog) {
        let Some(entry) = &mut self.entries[way] else {
            return;
        };
        entry.mark(stored);
        match self.rules.shared.modified {
            ModifiedBits::Page => {}
            ModifiedBits::Block => entry.mark_all(log),
            // The page leaves the clean pages. One page has an entry of its own either way.
            ModifiedBits::Attribute => {
                if entry.translations().len() > 1 {
                    let mut own = entry.clone();
                    for (own, page) in own.pages.iter_mut().zip(&mut entry.pages) {
                        *own = page.take_if(|page| page.is_of_same_page(stored));
                    }
                    self.settle(way, log);
                    self.enter(set, own, true, log);
                }
            }
        }
    }
}

impl Entries for SubblockSets {
    fn find(&mut self, request: &TlbRequest, size: PageSize, log: &mut TlbLog) -> EntryLookup {
        // An entry holds pages of several sizes, unless each size has blocks of its own. A page
        // that is larger than a block can lie in another set than smaller ones.
        let is_alone = self.has_sets && size > self.rules.block || request.tag.is_of_tables();
        if !self.rules.own_blocks && size != self.base && !is_alone {
            return EntryLookup::Nothing;
        }
        let Some(set) = self.indices.set_of(request, size) else {
            return EntryLookup::Nothing;
        };
        let block = self.run_of(request, size);
        let may_hold = match self.is_exact(request) {
            true => self.hints.may_hold(request.tag, block),
            false => self.hints.may_cover(request.tag, request.page),
        };
        if !may_hold {
            return EntryLookup::Nothing;
        }
        // A page has one entry, so a guess that has the page is what a search would find.
        let ways = self.ways_of(set);
        for guess in self.hints.guesses(request.tag, block) {
            if ways.contains(&guess)
                && let EntryHolds::Page(page) = self.held(guess, request, size)
            {
                return self.hit(set, guess, request, page, log);
            }
        }
        let mut found = EntryLookup::Nothing;
        let mut search = |way: usize| match self.held(way, request, size) {
            EntryHolds::Page(page) => Some((way, page)),
            EntryHolds::Block => {
                found = EntryLookup::Block;
                None
            }
            EntryHolds::Nothing => None,
        };
        let of_page = match self.key_around(request, block) {
            Some(key) => self.ways_of_key(ways, key).find_map(&mut search),
            None => ways.into_iter().find_map(&mut search),
        };
        let Some((way, page)) = of_page else {
            return found;
        };
        self.hints.learn(request.tag, block, way);
        self.hit(set, way, request, page, log)
    }

    fn load(&mut self, walk: &Walk<'_>, log: &mut TlbLog) {
        self.load_block(walk, NeighbourSource::PageTable, log);
    }

    fn receive(
        &mut self,
        request: &TlbRequest,
        translation: &Translation,
        beside: &[Translation],
        log: &mut TlbLog,
    ) {
        let walk = Walk {
            request: *request,
            translation: *translation,
            read: &|page| {
                let mut beside = beside.iter().copied();
                beside.find(|other| other.run().contains(page))
            },
        };
        // Only reads of the page table are counted.
        let reads = log.counts.table_reads;
        self.load_block(&walk, NeighbourSource::Structure, log);
        log.counts.table_reads = reads;
    }

    fn beside(&self, request: &TlbRequest, size: PageSize) -> Vec<Translation> {
        // An entry with a frame for each page gives the page that was asked for.
        let shares_frame = self.rules.shared.frames != SharedFrames::None;
        let set = self.indices.set_of(request, size).filter(|_| shares_frame);
        let mut ways = set.into_iter().flat_map(|set| self.ways_of(set));
        let holds = |way: &usize| matches!(self.held(*way, request, size), EntryHolds::Page(_));
        let entry = ways.find(holds).and_then(|way| self.entries[way].as_ref());
        entry.map_or_else(Vec::new, SubblockEntry::translations)
    }

    fn mark(&mut self, translation: &Translation, log: &mut TlbLog) {
        let Some(set) = self.indices.set_of(
            &TlbRequest::load(translation.tag, translation.first),
            translation.size,
        ) else {
            return;
        };
        // Marking can move a page to an entry of its own.
        while let Some(way) = self.ways_of(set).find(|way| {
            let entry = self.entries[*way].as_ref();
            entry.is_some_and(|entry| entry.has_clean(translation))
        }) {
            self.modify(set, way, translation, log);
        }
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

    fn replacement(&self) -> Option<&ReplacementState> {
        Some(&self.replacement)
    }

    fn replacement_mut(&mut self) -> Option<&mut ReplacementState> {
        Some(&mut self.replacement)
    }

    fn disturbed(&self, page: PageNumber, size: PageSize) -> (u64, u64) {
        let request = TlbRequest::load(Asid::ZERO, page);
        self.run_of(&request, size).bounds()
    }

    fn occupied(&self) -> usize {
        self.entries.iter().flatten().count()
    }

    fn check(&self) {
        for set in self.entries.chunks(self.ways) {
            for (at, entry) in set.iter().enumerate() {
                let Some(entry) = entry else { continue };
                assert!(entry.pages.iter().any(Option::is_some), "an empty entry");
                // Walk entries of several levels cover the same pages.
                let may_share = |other: &&SubblockEntry| {
                    let is_walk_entry = entry.tag.is_of_tables() && other.run != entry.run;
                    other.tag == entry.tag && !is_walk_entry
                };
                for other in set[..at].iter().flatten().filter(may_share) {
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
