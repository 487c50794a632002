//! Pages, reservations and superpages: what becomes resident, what is promoted and what goes (rules 6 to 13 and 19 to 24).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use broadleaf_trace::{Backing, KernelTouch, Mapping, Protection};
use broadleaf_units::SpaceId;

use crate::block::{Block, Fill, Page, Reservation};
use crate::mappings::{Coverage, FileSizes, Mappings, overlap, pages_of};
use crate::policy::{PolicySpec, View, decide};
use crate::tlb::{AgedTlb, PageSizeKind};
use crate::{Counts, Foreknowledge, Machine};

/// An address space and a block of it.
pub(crate) type BlockKey = (SpaceId, u64);

/// The memory of all address spaces under one policy.
pub(crate) struct Memory {
    policy: PolicySpec,
    pub(crate) tlb: AgedTlb,
    pub(crate) counts: Counts,
    known: Foreknowledge,
    /// The blocks that were promoted at any time.
    pub(crate) ever_promoted: BTreeSet<BlockKey>,
    files: FileSizes,
    mappings: BTreeMap<SpaceId, Mappings>,
    blocks: BTreeMap<BlockKey, Block>,
    resident: u64,
    /// When `life` promotes a block that is still reserved then, in order of time.
    due: BTreeSet<(u64, BlockKey)>,
}

impl Memory {
    pub(crate) fn new(policy: PolicySpec, machine: Machine, known: Foreknowledge) -> Self {
        Self {
            policy,
            tlb: AgedTlb::new(machine),
            counts: Counts::default(),
            known,
            ever_promoted: BTreeSet::new(),
            files: FileSizes::new(),
            mappings: BTreeMap::new(),
            blocks: BTreeMap::new(),
            resident: 0,
            due: BTreeSet::new(),
        }
    }

    fn mappings(&mut self, space: SpaceId) -> &mut Mappings {
        let everything = !self.known.spaces_with_maps.contains(&space);
        self.mappings
            .entry(space)
            .or_insert_with(|| Mappings::new(everything))
    }

    fn refuse(&mut self, reason: &'static str) {
        *self.counts.refusals.entry(reason).or_default() += 1;
    }

    fn note_peak(&mut self) {
        self.counts.peak_resident_pages = self.counts.peak_resident_pages.max(self.resident);
    }

    fn is_promoted(&self, key: BlockKey) -> bool {
        self.blocks
            .get(&key)
            .and_then(|block| block.reservation)
            .is_some_and(|reservation| reservation.promoted)
    }

    // ---- references ----

    /// What happens to `page` at a load or store at `time`, before its translation. Says which leaf maps it then.
    pub(crate) fn touch(
        &mut self,
        space: SpaceId,
        page: u64,
        store: bool,
        time: u64,
    ) -> PageSizeKind {
        let key = (space, page / 512);
        let at = (page % 512) as usize;
        match self
            .blocks
            .get_mut(&key)
            .and_then(|block| block.pages[at].as_mut())
        {
            Some(resident) => {
                resident.filled = None;
                if store && !resident.dirty {
                    self.first_store(space, page, time);
                }
            }
            None => self.fault(space, page, store, time),
        }
        self.note_peak();
        if self.is_promoted(key) {
            PageSizeKind::Super
        } else {
            PageSizeKind::Base
        }
    }

    /// Returns true if the kernel stores to a page that it populates (rule 33); `None` if it does
    /// not touch the page.
    pub(crate) fn kernel_stores(
        &mut self,
        space: SpaceId,
        page: u64,
        touch: KernelTouch,
    ) -> Option<bool> {
        self.mappings(space);
        self.mappings[&space].kernel_stores(page, touch, &self.files)
    }

    fn page(&self, key: BlockKey, at: usize) -> Option<Page> {
        self.blocks.get(&key).and_then(|block| block.pages[at])
    }

    /// Rules 6, 7 and 9(a). A store that faults leaves the page dirty before the one question.
    fn fault(&mut self, space: SpaceId, page: u64, store: bool, time: u64) {
        let key = (space, page / 512);
        self.counts.page_faults += 1;
        // A block whose last page goes is forgotten, so an unknown block is one without resident pages.
        if !self.blocks.contains_key(&key) {
            self.mappings(space);
            let mappings = &self.mappings[&space];
            let reserve =
                mappings.is_covered(key.1, &self.files) || mappings.grows_into(page, key.1);
            let reservation = reserve.then_some(Reservation {
                created: time,
                promoted: false,
            });
            self.blocks.insert(key, Block::new(reservation));
            if reserve {
                self.note_due(key, time);
            }
        }
        if let Some(block) = self.blocks.get_mut(&key) {
            block.pages[(page % 512) as usize] = Some(Page {
                dirty: store,
                filled: None,
            });
            self.resident += 1;
        }
        self.note_peak();
        if self.policy == PolicySpec::ThpAlways {
            self.thp_at_fault(space, page);
        } else if self.blocks[&key].reservation.is_some() {
            self.decision_point(space, page, time);
        } else if self.policy.ever_promotes() {
            self.refuse("no_reservation");
        }
    }

    /// Rules 9(b) and 16.
    fn first_store(&mut self, space: SpaceId, page: u64, time: u64) {
        let key = (space, page / 512);
        let promoted = self.is_promoted(key);
        let protects = match self.policy {
            PolicySpec::FreeBsd => true,
            PolicySpec::Advice { .. } => self.is_of_file(space, page),
            _ => false,
        };
        if promoted
            && protects
            && self.blocks[&key].dirty() == 0
            && self.mappings(space).is_writable(page)
        {
            self.demote(key);
        }
        if let Some(page) = self
            .blocks
            .get_mut(&key)
            .and_then(|block| block.pages[(page % 512) as usize].as_mut())
        {
            page.dirty = true;
        }
        if self.blocks[&key].reservation.is_some() && self.policy != PolicySpec::ThpAlways {
            self.decision_point(space, page, time);
        }
    }

    /// Rule 10, for a block that has a reservation.
    fn decision_point(&mut self, space: SpaceId, page: u64, time: u64) {
        let key = (space, page / 512);
        let file = self.is_of_file(space, page);
        let block = &self.blocks[&key];
        let Some(reservation) = block.reservation else {
            return;
        };
        if reservation.promoted || !self.policy.ever_promotes() {
            return;
        }
        let view = View {
            block,
            file,
            age: time - reservation.created,
            foreseen: self.known.promoted_by_freebsd.contains(&key),
        };
        match decide(self.policy, &view) {
            Ok(()) => self.ask_host(key),
            Err(reason) => self.refuse(reason),
        }
    }

    pub(crate) fn is_of_file(&mut self, space: SpaceId, page: u64) -> bool {
        let backing = self.mappings(space).backing(page);
        matches!(backing, Some(Backing::File { .. }))
    }

    fn coverage(&mut self, (space, number): BlockKey) -> Coverage {
        self.mappings(space);
        self.mappings[&space].coverage(number, &self.files)
    }

    /// Rule 10, the host's part.
    fn ask_host(&mut self, key: BlockKey) {
        match self.coverage(key) {
            Coverage::Covered => self.promote(key),
            Coverage::MixedProtection => self.refuse("mixed_protection"),
            Coverage::NotCovered => self.refuse("not_covered"),
        }
    }

    /// Rule 18. The kind is that of the page that faulted: it is the block's where the block is covered.
    fn thp_at_fault(&mut self, space: SpaceId, page: u64) {
        let key = (space, page / 512);
        let mappings = self.mappings(space);
        let backing = mappings.backing(page);
        let advised_against = mappings.is_advised_against(key.1);
        let coverage = self.coverage(key);
        let others = self.blocks[&key].populated() - 1;
        match (backing, coverage) {
            (Some(Backing::File { .. }), _) => self.refuse("file_backed"),
            (Some(Backing::SharedMemory), _) => self.refuse("shared_memory"),
            _ if advised_against => self.refuse("advised_against"),
            (_, Coverage::NotCovered) => self.refuse("not_covered"),
            (_, Coverage::MixedProtection) => self.refuse("mixed_protection"),
            _ if others > 0 => self.refuse("already_populated"),
            _ => self.promote(key),
        }
    }

    /// Rule 11. The base-page entries of the block stay in the TLBs.
    fn promote(&mut self, key: BlockKey) {
        let file = self.is_of_file(key.0, key.1 * 512);
        let fill = if file { Fill::DiskRead } else { Fill::Zeroed };
        let Some(block) = self.blocks.get_mut(&key) else {
            return;
        };
        for page in &mut block.pages {
            if page.is_none() {
                *page = Some(Page {
                    dirty: false,
                    filled: Some(fill),
                });
                self.resident += 1;
            }
        }
        if let Some(reservation) = &mut block.reservation {
            reservation.promoted = true;
        }
        self.counts.promotions += 1;
        self.ever_promoted.insert(key);
        self.note_peak();
    }

    fn demote(&mut self, key: BlockKey) {
        if let Some(reservation) = self
            .blocks
            .get_mut(&key)
            .and_then(|block| block.reservation.as_mut())
        {
            reservation.promoted = false;
        }
        self.counts.demotions += 1;
        self.tlb.remove_superpage(key.0, key.1);
    }

    // ---- time ----

    fn note_due(&mut self, key: BlockKey, created: u64) {
        if let PolicySpec::Life(x) = self.policy {
            self.due.insert((created.saturating_add(x), key));
        }
    }

    /// When the next reservation is old enough, if any ever is.
    pub(crate) fn next_due(&self) -> Option<u64> {
        self.due.first().map(|&(time, _)| time)
    }

    /// Rule 13: promotes what is due before the access with this time.
    pub(crate) fn time_passes(&mut self, time: u64) {
        while let Some(&(due, key)) = self.due.first() {
            if due > time {
                return;
            }
            self.due.pop_first();
            let PolicySpec::Life(x) = self.policy else {
                return;
            };
            // The reservation may have ended since, and another may stand there now.
            let reservation = self.blocks.get(&key).and_then(|block| block.reservation);
            if reservation.is_some_and(|r| !r.promoted && r.created.saturating_add(x) == due) {
                self.ask_host(key);
            }
        }
    }

    // ---- events ----

    /// The blocks with a resident page that `pages` reach into.
    fn known_blocks(&self, space: SpaceId, pages: &Range<u64>) -> Vec<u64> {
        if pages.is_empty() {
            return Vec::new();
        }
        let blocks = (space, pages.start / 512)..=(space, (pages.end - 1) / 512);
        self.blocks
            .range(blocks)
            .map(|(&(_, block), _)| block)
            .collect()
    }

    fn page_goes(&mut self, key: BlockKey, at: usize) {
        let Some(page) = self
            .blocks
            .get_mut(&key)
            .and_then(|block| block.pages[at].take())
        else {
            return;
        };
        self.resident -= 1;
        match page.filled {
            Some(Fill::Zeroed) => self.counts.extra_zeroed_pages += 1,
            Some(Fill::DiskRead) => self.counts.extra_disk_read_pages += 1,
            None => {}
        }
    }

    /// Rules 19 and 25: the pages go; the mapping is the caller's business.
    pub(crate) fn lose_pages(&mut self, space: SpaceId, range: &Range<u64>) {
        for number in self.known_blocks(space, range) {
            let key = (space, number);
            let inside = overlap(range, &pages_of(number));
            let resident_outside = pages_of(number).any(|page| {
                !inside.contains(&page) && self.page(key, (page % 512) as usize).is_some()
            });
            if self.is_promoted(key) {
                if resident_outside {
                    self.demote(key);
                } else {
                    self.tlb.remove_superpage(space, number);
                }
            }
            for page in inside {
                self.page_goes(key, (page % 512) as usize);
            }
            if !resident_outside {
                self.blocks.remove(&key);
            }
        }
        self.tlb.remove_pages(space, range);
    }

    pub(crate) fn file(&mut self, id: broadleaf_units::FileId, size: u64) {
        self.files.insert(id, size);
    }

    pub(crate) fn map(&mut self, space: SpaceId, mapping: &Mapping) {
        self.lose_pages(space, &crate::mappings::pages_in(mapping.range));
        self.mappings(space).map(mapping);
    }

    pub(crate) fn unmap(&mut self, space: SpaceId, pages: &Range<u64>) {
        self.lose_pages(space, pages);
        self.mappings(space).unmap(pages);
    }

    /// Rule 21.
    pub(crate) fn protect(&mut self, space: SpaceId, pages: &Range<u64>, protection: Protection) {
        for changed in self.mappings(space).protect(pages, protection) {
            for number in self.known_blocks(space, &changed) {
                if !self.is_promoted((space, number)) {
                    continue;
                }
                if overlap(&changed, &pages_of(number)) == pages_of(number) {
                    self.tlb.remove_superpage(space, number);
                } else {
                    self.demote((space, number));
                }
            }
            self.tlb.remove_pages(space, &changed);
        }
    }

    pub(crate) fn advise_against(&mut self, space: SpaceId, pages: Range<u64>) {
        self.mappings(space).advise_against(pages);
    }

    pub(crate) fn clear_advice(&mut self, space: SpaceId, pages: &Range<u64>) {
        self.mappings(space).clear_advice(pages);
    }

    /// `Brk`: a heap that shrinks gives pages up.
    pub(crate) fn set_heap(&mut self, space: SpaceId, pages: Range<u64>) {
        let gone = self.mappings(space).set_heap(pages);
        self.unmap(space, &gone);
    }

    pub(crate) fn grow_stack(&mut self, space: SpaceId, pages: Range<u64>) {
        self.mappings(space).grow_stack(pages);
    }

    /// The space begins anew or ends: nothing is mapped, resident or advised in it.
    pub(crate) fn release(&mut self, space: SpaceId) {
        self.lose_pages(space, &(0..u64::MAX));
        self.mappings.remove(&space);
    }

    /// Rule 23. `time` is the number of accesses so far.
    pub(crate) fn remap(&mut self, space: SpaceId, from: &Range<u64>, to: &Range<u64>, time: u64) {
        let moved = (from.end - from.start).min(to.end - to.start);
        let source = from.start..from.start + moved;
        let tail = source.end..from.end;
        if from.start == to.start {
            self.unmap(space, &tail);
            self.unmap(space, &(source.end..to.end));
            if to.end > from.end {
                self.mappings(space).extend(from.end, to.end);
            }
            return;
        }
        self.unmap(space, to);
        self.unmap(space, &tail);
        let congruent = from.start % 512 == to.start % 512;
        let destination_of = |page: u64| page - from.start + to.start;
        let mut pages: Vec<(u64, Page)> = Vec::new();
        let mut reservations: Vec<(u64, Reservation)> = Vec::new();
        for number in self.known_blocks(space, &source) {
            let key = (space, number);
            let inside = overlap(&source, &pages_of(number));
            let moves_whole = congruent && inside == pages_of(number);
            if self.is_promoted(key) {
                if moves_whole {
                    self.tlb.remove_superpage(space, number);
                } else {
                    self.demote(key);
                }
            }
            let Some(block) = self.blocks.get_mut(&key) else {
                continue;
            };
            for page in inside {
                if let Some(state) = block.pages[(page % 512) as usize].take() {
                    pages.push((destination_of(page), state));
                }
            }
            if moves_whole && let Some(reservation) = block.reservation {
                reservations.push((destination_of(number * 512) / 512, reservation));
            }
            if block.populated() == 0 {
                self.blocks.remove(&key);
            }
        }
        self.tlb.remove_pages(space, &source);
        for (page, state) in pages {
            let block = self
                .blocks
                .entry((space, page / 512))
                .or_insert_with(|| Block::new(None));
            block.pages[(page % 512) as usize] = Some(state);
        }
        for (number, reservation) in reservations {
            if let Some(block) = self.blocks.get_mut(&(space, number)) {
                block.reservation = Some(reservation);
            }
            // A date that has passed has had its question; the policy answers the same at later decision points.
            if let PolicySpec::Life(x) = self.policy
                && reservation.created.saturating_add(x) >= time
            {
                self.note_due((space, number), reservation.created);
            }
        }
        self.mappings(space).move_to(&source, to);
    }

    // ---- the end ----

    /// The figures of rules 20, 28 and 29 for what stands at the end.
    pub(crate) fn finish(mut self) -> (Counts, BTreeSet<BlockKey>) {
        for ((space, number), block) in std::mem::take(&mut self.blocks) {
            for page in block.pages.iter().flatten() {
                match page.filled {
                    Some(Fill::Zeroed) => self.counts.extra_zeroed_pages += 1,
                    Some(Fill::DiskRead) => self.counts.extra_disk_read_pages += 1,
                    None => {}
                }
            }
            if block
                .reservation
                .is_some_and(|reservation| reservation.promoted)
            {
                let file = self.is_of_file(space, number * 512);
                let (clean, falsely_dirty) = match block.dirty() {
                    0 => (512, 0),
                    dirty => (512 - dirty, 512 - dirty),
                };
                let counts = &mut self.counts;
                counts.clean_pages_in_superpages += clean;
                counts.false_dirty_pages += falsely_dirty;
                if file {
                    counts.clean_pages_in_superpages_file += clean;
                    counts.false_dirty_pages_file += falsely_dirty;
                } else {
                    counts.clean_pages_in_superpages_anonymous += clean;
                    counts.false_dirty_pages_anonymous += falsely_dirty;
                }
            }
        }
        self.counts.resident_pages = self.resident;
        (self.counts, self.ever_promoted)
    }
}
