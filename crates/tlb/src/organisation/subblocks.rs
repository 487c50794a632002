//! Sets of subblock entries: a block of pages shares a tag, and each page has a valid bit.

use super::compatibility::{ModifiedBits, SharedFields, SharedFrames, ValidBits, placed_block};
use super::{Entries, Found};
use crate::{Compiled, ReplacementState, Structure, TlbLog, TlbRequest, Translation, Walk};
use broadleaf_units::{AlignedRun, Asid, PageNumber, PageSize};

/// The existing entries that a page can join (Talluri 1995, section 4.3 and appendix G).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JoinCheck {
    /// Each entry of the block.
    Full,
    /// The first entry of the block alone.
    FirstTag,
    /// None.
    Never,
}

/// The way in which a structure loads pages of a block that has an entry already, if it preloads
/// (Talluri 1995, section 4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SubblockMisses {
    /// The entry is dropped, and the block is preloaded anew.
    Demap,
    /// The page alone is loaded.
    LoadPage,
}

/// What distinguishes one subblock organisation from another.
#[derive(Clone, Copy, Debug)]
pub(super) struct SubblockRules {
    /// The size of a block.
    pub(super) block: PageSize,
    /// True if each page size has blocks of its own, of equally many pages (Talluri 1995, appendix
    /// F). Otherwise a larger page fills the subblocks that it covers.
    pub(super) own_blocks: bool,
    pub(super) shared: SharedFields,
    pub(super) preload: bool,
    pub(super) check: JoinCheck,
    pub(super) again: SubblockMisses,
}

/// An entry: a block of pages.
#[derive(Clone, Debug)]
struct SubblockEntry {
    tag: Asid,
    run: AlignedRun,
    /// For each subblock, the translation that covers it.
    pages: Vec<Option<Translation>>,
}

impl SubblockEntry {
    /// The number of 4 KiB pages in a subblock.
    fn step(&self) -> u64 {
        self.run.pages() / self.pages.len() as u64
    }

    fn subblock_of(&self, page: PageNumber) -> usize {
        ((page.0 - self.run.first.0) / self.step()) as usize
    }

    /// The translations, each once.
    fn translations(&self) -> Vec<Translation> {
        let mut all: Vec<Translation> = self.pages.iter().flatten().copied().collect();
        all.dedup();
        all
    }
}

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
    fn entry_of(&self, walk: &Walk<'_>, is_again: bool, log: &mut TlbLog) -> SubblockEntry {
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
            shared.may_join(run, pages, (at, page_at(at)), other)
        };
        // A superpage that is not aligned with the block takes an entry for each page (Talluri
        // 1995, appendix H).
        let is_aligned = shared.frames == SharedFrames::None
            || placed_block(run, page, &new).is_some()
            || run == new.run();
        for &at in &others {
            let covers = new.run().contains(page_at(at)) && new.size > self.base;
            if covers && is_aligned {
                entry.pages[at] = Some(new);
            }
        }
        let preloads =
            self.rules.preload && !(is_again && self.rules.again == SubblockMisses::LoadPage);
        if preloads {
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
            entry.pages.fill(None);
            entry.pages[missing] = Some(new);
        }
        entry
    }

    /// Returns true if pages of both sizes can have one entry.
    fn may_share(&self, new: &Translation, other: &Translation) -> bool {
        if self.rules.own_blocks {
            other.size == new.size
        } else {
            other.size <= self.rules.block
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

    fn can_join(&self, entry: &SubblockEntry, new: &SubblockEntry) -> bool {
        if self.rules.shared.valid == ValidBits::All {
            return false;
        }
        let step = entry.step();
        let mut pages = entry.pages.clone();
        let mut added =
            (new.pages.iter().enumerate()).filter_map(|(at, page)| Some((at, (*page)?)));
        added.all(|(at, translation)| {
            let page = PageNumber(entry.run.first.0 + at as u64 * step);
            // What the entry says of the page itself is replaced.
            pages[at] = None;
            let joins = (self.rules.shared).may_join(entry.run, &pages, (at, page), &translation);
            pages[at] = Some(translation);
            joins
        })
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
                    let pairs = entry.pages.iter_mut().zip(new.pages);
                    pairs.for_each(|(page, new)| *page = new.or(*page));
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
            mark_all(entry, log);
        }
    }

    /// A store hit a page whose modified bit is clear.
    fn modify(&mut self, set: usize, way: usize, at: usize, log: &mut TlbLog) {
        log.counts.modified_faults += 1;
        let Some(entry) = &mut self.entries[way] else {
            return;
        };
        if let Some(page) = &mut entry.pages[at] {
            page.modified = true;
        }
        match self.rules.shared.modified {
            ModifiedBits::Page => {}
            ModifiedBits::Block => mark_all(entry, log),
            // The page leaves the clean pages. One page has an entry of its own either way.
            ModifiedBits::Attribute => {
                if entry.pages.iter().flatten().count() > 1 {
                    let mut own = entry.clone();
                    own.pages.fill(None);
                    own.pages[at] = entry.pages[at].take();
                    self.settle(way, log);
                    self.enter(set, own, true, log);
                }
            }
        }
    }
}

/// Returns true if valid bits can express these pages.
fn can_express(valid: ValidBits, pages: &[Option<Translation>]) -> bool {
    let used = pages.iter().flatten().count();
    match valid {
        ValidBits::Vector => true,
        ValidBits::All => used <= 1 || used == pages.len(),
        ValidBits::Run => {
            let first = pages.iter().position(Option::is_some);
            let last = pages.iter().rposition(Option::is_some);
            first
                .zip(last)
                .is_none_or(|(first, last)| last - first + 1 == used)
        }
    }
}

/// Sets the modified bit of all pages of an entry.
fn mark_all(entry: &mut SubblockEntry, log: &mut TlbLog) {
    for page in entry.pages.iter_mut().flatten() {
        log.counts.marked_pages += u64::from(!page.modified);
        page.modified = true;
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
            return Found::Hit(page);
        }
        found
    }

    fn load(&mut self, walk: &Walk<'_>, log: &mut TlbLog) {
        let (page, size) = (walk.request.page, walk.translation.size);
        let Some(set) = self.set_of(page, size) else {
            return;
        };
        let run = self.run_of(page, size);
        let has_run = |entry: &SubblockEntry| (entry.tag, entry.run) == (walk.request.tag, run);
        let mut ways = self.entries[self.ways_of(set)].iter().flatten();
        let is_again = ways.any(has_run);
        let new = self.entry_of(walk, is_again, log);
        let preloaded =
            self.rules.preload && !(is_again && self.rules.again == SubblockMisses::LoadPage);
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

    fn holds(&self, translation: &Translation) -> bool {
        let pages = self.entries.iter().flatten().flat_map(|entry| &entry.pages);
        pages
            .flatten()
            .any(|page| page.is_of_same_page(translation))
    }

    fn drop_stale(&mut self, stale: &mut dyn FnMut(&Translation) -> bool) {
        for way in 0..self.entries.len() {
            if let Some(entry) = &mut self.entries[way] {
                for page in &mut entry.pages {
                    page.take_if(|page| stale(page));
                }
                self.settle(way, &mut TlbLog::default());
            }
        }
    }

    fn foresee(&mut self, next: u64) {
        self.replacement.foresee(next);
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
                    assert!(
                        !one_tag || other.run != entry.run,
                        "two entries with one tag"
                    );
                    check_disjoint(entry, other);
                }
            }
        }
    }

    fn copy(&self) -> Box<dyn Entries> {
        Box::new(self.clone())
    }
}

/// Asserts that no page has a valid bit in both entries.
fn check_disjoint(one: &SubblockEntry, other: &SubblockEntry) {
    let starts = |entry: &SubblockEntry| {
        let (first, step) = (entry.run.first.0, entry.step());
        let used = (0_u64..)
            .zip(&entry.pages)
            .filter(|(_, page)| page.is_some());
        let starts: Vec<(u64, u64)> = used.map(|(at, _)| (first + at * step, step)).collect();
        starts
    };
    for (first, step) in starts(one) {
        let doubled = |(start, pages): (u64, u64)| start < first + step && first < start + pages;
        assert!(
            !starts(other).into_iter().any(doubled),
            "page {first} has two entries"
        );
    }
}
