//! The walks of one machine: the page table that they read, and their counts and cycles.

use super::Mmu;
use super::totals::TlbTotals;
use crate::mapped::{MappedMemory, PageLookup, share_of, walk_of};
use broadleaf_memory::Notice;
use broadleaf_metrics::TlbResult;
use broadleaf_tlb::{Structure, TlbRequest};
use broadleaf_units::{Leaf, PageNumber, PageSize};
use std::cell::RefCell;

impl Mmu<'_> {
    /// Builds the page table from notices, and sends walks through the table.
    pub(crate) fn walk_tables(&mut self) {
        let base = self.sizes.first().copied().unwrap_or(PageSize::SIZE_4K);
        self.walked.build(self.machine, base);
    }

    /// Repeats known walks of the page table, if only their counts matter. No decision at a miss
    /// reads further entries.
    pub(crate) fn remember_walks(&mut self) {
        self.walked.remember_walks(self.machine);
    }

    /// Updates the page table.
    pub(crate) fn notice(&mut self, notice: &Notice) {
        self.walked.notice(notice);
    }

    /// Walks for a page that the TLB missed, and loads the translation.
    pub(crate) fn load_missing(
        &mut self,
        request: &TlbRequest,
        lookup: &PageLookup,
        memory: &MappedMemory<'_, '_>,
    ) {
        let (level, leaf) = self.walk(request, lookup.level);
        let space = Some(self.running.0).filter(|_| self.wants_tables);
        let sizes = &self.translated;
        let asked = RefCell::new(std::mem::take(&mut self.asked));
        let is_asked = self.walked.has_table() || self.leads();
        let read = |page| {
            if is_asked && page != request.page {
                asked.borrow_mut().push(page);
            }
            memory.translation((space?, request.tag), page, sizes)
        };
        let mut walk = walk_of(request, sizes[level], &read);
        if let Some(leaf) = leaf {
            // The entry of the page table holds the configuration.
            walk.translation.share = share_of(&leaf, walk.translation.size);
        }
        self.tlb.load(&walk);
        let mut asked = asked.into_inner();
        self.keep_miss(request, lookup.level, &asked);
        self.end_walk(&asked);
        asked.clear();
        self.asked = asked;
    }

    /// Reads the entries of the pages that the TLB loads beside the missing one, and ends the walk.
    pub(crate) fn end_walk(&mut self, beside: &[PageNumber]) {
        let cached = &mut self.cached;
        self.walked.end_walk(self.running.0, beside, |lines| {
            if let Some(cached) = cached {
                cached.walk(lines);
            }
        });
    }

    /// Reads the entries of the pages that the TLB loads beside the missing one, after the walk
    /// ended.
    pub(crate) fn read_beside(&mut self, beside: &[PageNumber]) {
        let cached = &mut self.cached;
        self.walked.read_beside(self.running.0, beside, |lines| {
            if let Some(cached) = cached {
                cached.walk(lines);
            }
        });
    }

    /// Returns true if walks read a page table.
    pub(crate) const fn walks_a_table(&self) -> bool {
        self.walked.has_table()
    }

    /// Counts a walk for a page of the running space. Memory says that a page of `level` maps it.
    /// With a page table, the walk goes through the table, and the table's leaf gives the level;
    /// both levels agree. Without a table, the level is that of memory, and there is no leaf.
    pub(crate) fn walk(&mut self, request: &TlbRequest, level: usize) -> (usize, Option<Leaf>) {
        let (page, mut level) = (request.page, level);
        let mut leaf = None;
        if self.walked.has_table() {
            leaf = self.walked.begin_walk(self.running.0, page);
            let found =
                leaf.and_then(|leaf| self.sizes.iter().position(|size| *size == leaf.run.size));
            debug_assert_eq!(found, Some(level), "page {page:?} of {:?}", self.running.0);
            level = found.unwrap_or(level);
        }
        self.walks[level] += 1;
        let sizes = [self.sizes[level], self.walked_as[level]];
        self.walked
            .count_reads(&mut self.tlb, self.running.0, request, sizes);
        (level, leaf)
    }

    /// The counts of TLBs beside hits and misses. `None` if the TLBs have sets of ways with exact
    /// LRU replacement alone.
    pub(crate) fn tlb_result(&self, totals: &TlbTotals) -> Option<TlbResult> {
        let (walks, counts) = (totals.all_walks(), totals.counts);
        // Tables whose walks cost what the page size says are built for tests alone.
        let is_shown = self.walked.has_table() && !self.machine.has_fixed_walk_costs();
        let has_more = !self.machine.design.is_sets_with_lru() || is_shown;
        let walked = self.walked.result(is_shown);
        let walk_caches = totals.walk_caches;
        let structures = self.machine.design.structures().iter();
        let bits = structures.filter_map(Structure::configuration_bits);
        let bits = bits.reduce(|one, other| one + other);
        has_more.then_some(TlbResult {
            scatter_cycles: bits.map(|_| counts.scatter_cycles),
            configuration_bits: bits,
            l3_misses: walks,
            block_misses: walks - counts.subblock_misses,
            subblock_misses: counts.subblock_misses,
            table_reads: counts.table_reads,
            modified_faults: counts.modified_faults,
            marked_pages: counts.marked_pages,
            extra_probes: counts.extra_probes,
            victim_hits: counts.victim_hits,
            prefetch_hits: counts.prefetch_hits,
            walk_entry_hits: counts.walk_entry_hits,
            walk_cache_hits: walk_caches.map(|caches| caches.hits),
            walk_reads: walk_caches.map_or(counts.walk_reads, |caches| caches.reads),
            ..walked
        })
    }

    /// The walks so far that found fractured pages.
    pub(super) fn fractured_walks(&self) -> u64 {
        let walks = self.walks.iter().zip(&self.sizes);
        let fractured = walks.filter(|(_, size)| self.machine.fractures(**size));
        fractured.map(|(walks, _)| walks).sum()
    }

    /// The cycles of all walks so far.
    pub(crate) fn walk_cycles(&self) -> u64 {
        if let Some(cached) = &self.cached {
            return cached.walk_cycles();
        }
        if let Some(cycles) = self.machine.walk_lines.and_then(|lines| lines.cycles) {
            return self.walked.lines() * cycles;
        }
        let walks = self.walks.iter().zip(&self.walked_as);
        // Machines are validated: each size that a TLB holds or that is fractured has a cost.
        let cycles = walks.map(|(walks, size)| walks * self.machine.costs.of(*size).unwrap_or(0));
        cycles.sum()
    }
}
