//! The page table of one machine, with its walk caches and its synonym table, and what walks read.

use crate::walk_memo::{KnownWalk, WalkMemo, places};
use broadleaf_machine::Machine;
use broadleaf_memory::{Notice, Shootdown};
use broadleaf_metrics::TlbResult;
use broadleaf_pagetable::{
    PageTable, PageTableKind, SynonymSize, SynonymTable, TableRead, TableSize, WalkCacheCounts,
    WalkCaches, WalkMeter,
};
use broadleaf_tlb::{Tlb, TlbRequest};
use broadleaf_units::{Leaf, PageNumber, PageSize, SpaceId};

/// The page table of a machine and what belongs to it. Without a table, walks find the level that
/// the memory reports.
///
/// A walk has three steps: [`Self::begin_walk`] finds the leaf, [`Self::count_reads`] counts what
/// the walk reads, and [`Self::end_walk`] adds the pages that the TLB loads beside it. The fields
/// `reads`, `left_out` and `walking` carry the walk from one step to the next.
pub(crate) struct WalkedTable {
    table: Option<Box<dyn PageTable>>,
    /// What walks of the table read.
    meter: WalkMeter,
    /// The table's size when it was largest.
    largest: TableSize,
    /// The address ranges that one entry of each level of the page table covers.
    spans: Vec<PageSize>,
    caches: Option<WalkCaches>,
    synonyms: Option<NotedSynonyms>,
    /// What the walk of the table reads if nothing shortens the walk.
    reads: Vec<TableRead>,
    /// The reads at the root that the walk leaves out.
    left_out: usize,
    /// The known walks; `None` if a walk may read something else each time, or its reads matter.
    memo: Option<WalkMemo>,
    /// The walk that is made.
    walking: WalkInProgress,
}

/// A walk that has not ended.
#[derive(Clone, Copy, Debug, Default)]
enum WalkInProgress {
    /// A walk whose reads are not known.
    #[default]
    Unknown,
    /// A walk that found a leaf, to be known.
    New(SpaceId, PageNumber, Option<Leaf>),
    /// A walk that was made before, for a page.
    Known(PageNumber, KnownWalk),
}

/// A synonym table and its counts.
struct NotedSynonyms {
    table: Box<dyn SynonymTable>,
    meter: WalkMeter,
    /// The table's size when its bytes were most.
    largest: SynonymSize,
}

impl NotedSynonyms {
    fn notice(&mut self, notice: &Notice) {
        let (table, meter) = (&mut self.table, &mut self.meter);
        match *notice {
            Notice::Mapped(space, leaf) => table.map(space, leaf, &mut |read| meter.read(read)),
            Notice::Unmapped(space, leaf) => table.unmap(space, leaf, &mut |read| meter.read(read)),
            // The entry stays where it is.
            Notice::Protected(..) => return,
        }
        self.meter.end();
        let size = self.table.size();
        let bytes = |size: &SynonymSize| size.head_bytes() + size.pointer_bytes();
        if bytes(&size) > bytes(&self.largest) {
            self.largest = size;
        }
    }
}

/// The bytes of the lines that walks read, as a power of two: those of the caches, if there are
/// any.
fn line_shift(machine: &Machine) -> u32 {
    let caches = machine.caches.as_ref();
    let shift = caches.map(|caches| caches.hierarchy.line_shift());
    shift.unwrap_or_else(|| machine.walk_lines.unwrap_or_default().shift)
}

impl WalkedTable {
    /// The walks of a machine. The table is built by [`Self::build`].
    pub(crate) fn new(machine: &Machine) -> Self {
        let shift = line_shift(machine);
        let caches = &machine.walk_caches;
        Self {
            table: None,
            meter: WalkMeter::new(shift),
            largest: TableSize::default(),
            spans: machine.walk_spans(),
            caches: (!caches.is_empty()).then(|| WalkCaches::new(caches)),
            synonyms: None,
            reads: Vec::new(),
            left_out: 0,
            memo: None,
            walking: WalkInProgress::Unknown,
        }
    }

    /// Builds the page table and the synonym table from notices, and sends walks through the table.
    pub(crate) fn build(&mut self, machine: &Machine, base: PageSize) {
        self.table = Some(PageTableKind::table(&machine.page_table, base));
        let shift = line_shift(machine);
        self.synonyms = machine.synonyms.map(|kind| NotedSynonyms {
            table: (kind.build)(base),
            meter: WalkMeter::new(shift),
            largest: SynonymSize::default(),
        });
    }

    /// Repeats known walks from now on, if nothing but their counts matters: no cache sees their
    /// reads, nothing shortens them, and no decision at the miss reads on.
    pub(crate) fn remember_walks(&mut self, machine: &Machine) {
        let structures = machine.design.structures();
        let has_walk_entries = structures.iter().any(|of| !of.walk_entries.is_empty());
        let is_alike = self.table.as_ref().is_some_and(|table| table.walks_alike());
        let is_plain = self.caches.is_none() && machine.caches.is_none() && !has_walk_entries;
        self.memo = (is_alike && is_plain).then(WalkMemo::default);
    }

    /// Counts from zero.
    pub(crate) fn begin(&mut self) {
        self.meter.begin();
        if let Some(caches) = &mut self.caches {
            caches.begin_counting();
        }
        if let Some(synonyms) = &mut self.synonyms {
            synonyms.meter.begin();
        }
    }

    pub(crate) const fn has_table(&self) -> bool {
        self.table.is_some()
    }

    /// Updates the tables.
    pub(crate) fn notice(&mut self, notice: &Notice) {
        let Some(table) = &mut self.table else {
            return;
        };
        if let Some(memo) = &mut self.memo {
            memo.forget();
        }
        match *notice {
            Notice::Mapped(space, leaf) => {
                table.map(space, leaf);
                let size = table.size();
                if size.bytes() > self.largest.bytes() {
                    self.largest = size;
                }
            }
            Notice::Protected(space, leaf) => table.protect(space, leaf),
            Notice::Unmapped(space, leaf) => table.unmap(space, leaf.run),
        }
        if let Some(synonyms) = &mut self.synonyms {
            synonyms.notice(notice);
        }
    }

    /// Drops what walk caches hold of stale translations.
    pub(crate) fn forget(&mut self, shootdown: &Shootdown) {
        let Some(caches) = &mut self.caches else {
            return;
        };
        match *shootdown {
            Shootdown::Nothing => {}
            Shootdown::Superpage { space, run } => {
                let (first, after) = run.bounds();
                caches.invalidate(space, first, after);
            }
            Shootdown::Range { space, pages } => caches.invalidate(space, pages.start, pages.end),
            Shootdown::Space(space) => caches.invalidate_space(space),
        }
    }

    /// Begins a walk for a page: finds the leaf, and keeps the reads of a walk that is new. Returns
    /// `None` without a table.
    pub(crate) fn begin_walk(&mut self, space: SpaceId, page: PageNumber) -> Option<Leaf> {
        if let Some(known) = self.memo.as_ref().and_then(|memo| memo.find(space, page)) {
            self.walking = WalkInProgress::Known(page, *known);
            return known.leaf;
        }
        let leaf = self.find_anew(space, page);
        if self.memo.is_some() {
            self.walking = WalkInProgress::New(space, page, leaf);
        }
        leaf
    }

    fn find_anew(&mut self, space: SpaceId, page: PageNumber) -> Option<Leaf> {
        let reads = &mut self.reads;
        self.table
            .as_mut()?
            .walk(space, page, &mut |read| reads.push(read))
    }

    /// Counts the reads that [`Self::begin_walk`] kept. The walk starts below the lowest entry that
    /// a walk cache or the TLB holds, and leaves out the reads above. Afterwards the walk caches
    /// and the TLB hold the entries that the walk read. The table maps the page with the size
    /// `mapped`; the walk ends as one to a page of the size `translated`.
    pub(crate) fn count_reads(
        &mut self,
        tlb: &mut Tlb,
        space: SpaceId,
        request: &TlbRequest,
        [mapped, translated]: [PageSize; 2],
    ) {
        if self.table.is_none() && self.caches.is_none() {
            tlb.shorten_walk(request, translated, &self.spans);
            return;
        }
        let from = self.spans.partition_point(|span| *span <= mapped);
        let above = &self.spans[from..];
        let kept = match &mut self.caches {
            Some(caches) => caches.begin(space, request.page, above),
            None => above.len(),
        };
        let read = tlb.shorten_walk(request, translated, &self.spans[..from + kept]);
        let read = read.min(kept);
        if let Some(caches) = &mut self.caches {
            caches.end(space, request.page, &above[..read]);
        }
        // A tree reads one entry for each level. Other tables have no entries above the leaf.
        let is_tree = !self.spans.is_empty() && self.reads.len() == above.len() + 1;
        self.left_out = if is_tree { above.len() - read } else { 0 };
        for read in self.reads.drain(..).skip(self.left_out) {
            self.meter.read(read);
        }
    }

    /// Reads the entries of the pages that the TLB loads beside the missing one, and ends the walk.
    /// `read` receives the lines that the walk read, in order, each once.
    pub(crate) fn end_walk(
        &mut self,
        space: SpaceId,
        beside: &[PageNumber],
        read: impl FnOnce(&[u64]),
    ) {
        if self.table.is_none() {
            return;
        }
        let walking = std::mem::take(&mut self.walking);
        if let WalkInProgress::Known(page, known) = walking {
            if places(page, beside) == Some(known.beside) {
                self.meter.repeat(&known.counts());
                return;
            }
            // The TLB loaded other pages this time.
            self.find_anew(space, page);
            self.reads.drain(..).for_each(|read| self.meter.read(read));
        }
        self.read_entries(space, beside);
        read(self.meter.lines());
        let before = self.meter.counts();
        self.meter.end();
        if let (WalkInProgress::New(space, page, leaf), Some(memo)) = (walking, &mut self.memo) {
            let counts = self.meter.counts().since(&before);
            memo.keep((space, page), leaf, beside, counts);
        }
    }

    /// Reads the entries of the pages that the TLB loads beside the missing one, after the walk
    /// ended: a decision at the miss may have changed the table meanwhile. `read` receives the
    /// lines that the walk had not read.
    pub(crate) fn read_beside(
        &mut self,
        space: SpaceId,
        beside: &[PageNumber],
        read: impl FnOnce(&[u64]),
    ) {
        if self.table.is_some() && !beside.is_empty() {
            self.read_entries(space, beside);
            read(self.meter.lines());
            self.meter.end_beside();
        }
    }

    fn read_entries(&mut self, space: SpaceId, pages: &[PageNumber]) {
        let Some(table) = &mut self.table else {
            return;
        };
        for page in pages {
            let mut before = self.left_out;
            table.walk(space, *page, &mut |read| {
                if before > 0 {
                    before -= 1;
                } else {
                    self.meter.read_beside(read);
                }
            });
        }
    }

    /// The lines that walks read.
    pub(crate) const fn lines(&self) -> u64 {
        self.meter.counts().lines
    }

    /// The counts of walk caches, if there are any.
    pub(crate) fn walk_cache_counts(&self) -> Option<WalkCacheCounts> {
        self.caches.as_ref().map(WalkCaches::counts)
    }

    /// Hands the tables over to another core of the machine, with the counts of what walks read.
    pub(crate) fn hand_over(&mut self, next: &mut Self) {
        next.table = self.table.take();
        next.synonyms = self.synonyms.take();
        std::mem::swap(&mut next.meter, &mut self.meter);
        next.largest = std::mem::take(&mut self.largest);
    }

    /// The counts of the tables, if `is_shown`.
    pub(crate) fn result(&self, is_shown: bool) -> TlbResult {
        let mut result = TlbResult::default();
        let Some(table) = self.table.as_ref().filter(|_| is_shown) else {
            return result;
        };
        let counts = self.meter.counts();
        result.table_nodes = Some(counts.nodes);
        result.table_most_nodes = Some(counts.most_nodes);
        result.table_lines = Some(counts.lines);
        result.table_bytes = Some(table.size().bytes());
        result.table_bytes_peak = Some(self.largest.bytes());
        let levels = self.largest.levels.iter();
        result.table_level_bytes = levels.map(|level| level.bytes).collect();
        if let Some(synonyms) = &self.synonyms {
            // Pointers lie in the entries of a table with room for them, and count there.
            let bytes = |size: &SynonymSize| match table.has_aliases() {
                true => size.head_bytes(),
                false => size.head_bytes() + size.pointer_bytes(),
            };
            let counts = synonyms.meter.counts();
            result.synonym_updates = Some(counts.walks);
            result.synonym_lines = Some(counts.lines);
            result.synonym_bytes = Some(bytes(&synonyms.table.size()));
            result.synonym_bytes_peak = Some(bytes(&synonyms.largest));
            result.synonym_split = Some(synonyms.table.size().split);
        }
        result
    }
}
