//! Pages, reservations and superpages: population, promotion and removal (rules 6 to 13 and 19 to
//! 24).

mod events;

use std::collections::{BTreeMap, BTreeSet};

use broadleaf_trace::{Backing, KernelTouch};
use broadleaf_units::SpaceId;

use crate::block::{Fill, OracleReservation, ResidentBlock, ResidentPage};
use crate::mappings::{FileSizes, Mappings, OracleCoverage};
use crate::policy::{BlockView, PolicySpec, decide};
use crate::tlb::{AgedTlb, PageSizeKind};
use crate::{Foreknowledge, OracleCounts, RuledMachine};

/// An address space and a block of it.
pub(crate) type BlockKey = (SpaceId, u64);

/// The memory of all address spaces under one policy.
pub(crate) struct OracleMemory {
    policy: PolicySpec,
    pub(crate) tlb: AgedTlb,
    pub(crate) counts: OracleCounts,
    known: Foreknowledge,
    /// The blocks promoted at any time.
    pub(crate) ever_promoted: BTreeSet<BlockKey>,
    files: FileSizes,
    mappings: BTreeMap<SpaceId, Mappings>,
    blocks: BTreeMap<BlockKey, ResidentBlock>,
    resident: u64,
    /// The times at which `life` promotes blocks that are still reserved, in order.
    due: BTreeSet<(u64, BlockKey)>,
}

impl OracleMemory {
    pub(crate) fn new(policy: PolicySpec, machine: RuledMachine, known: Foreknowledge) -> Self {
        Self {
            policy,
            tlb: AgedTlb::new(machine),
            counts: OracleCounts::default(),
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

    /// Applies a load or store of `page` at `time`, before its translation. Returns the size of the
    /// leaf that maps the page.
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

    fn page(&self, key: BlockKey, at: usize) -> Option<ResidentPage> {
        self.blocks.get(&key).and_then(|block| block.pages[at])
    }

    /// Rules 6, 7 and 9(a). A store that faults makes the page dirty before the only question.
    fn fault(&mut self, space: SpaceId, page: u64, store: bool, time: u64) {
        let key = (space, page / 512);
        self.counts.page_faults += 1;
        // A block is removed with its last page, so an unknown block has no resident pages.
        if !self.blocks.contains_key(&key) {
            self.mappings(space);
            let mappings = &self.mappings[&space];
            let reserve =
                mappings.is_covered(key.1, &self.files) || mappings.grows_into(page, key.1);
            let reservation = reserve.then_some(OracleReservation {
                created: time,
                promoted: false,
            });
            self.blocks.insert(key, ResidentBlock::new(reservation));
            if reserve {
                self.note_due(key, time);
            }
        }
        if let Some(block) = self.blocks.get_mut(&key) {
            block.pages[(page % 512) as usize] = Some(ResidentPage {
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
        let view = BlockView {
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

    fn coverage(&mut self, (space, number): BlockKey) -> OracleCoverage {
        self.mappings(space);
        self.mappings[&space].coverage(number, &self.files)
    }

    /// Rule 10, the host's part.
    fn ask_host(&mut self, key: BlockKey) {
        match self.coverage(key) {
            OracleCoverage::Covered => self.promote(key),
            OracleCoverage::MixedProtection => self.refuse("mixed_protection"),
            OracleCoverage::NotCovered => self.refuse("not_covered"),
        }
    }

    /// Rule 18. The kind of memory is that of the faulting page, and of the whole block if the
    /// block is covered.
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
            (_, OracleCoverage::NotCovered) => self.refuse("not_covered"),
            (_, OracleCoverage::MixedProtection) => self.refuse("mixed_protection"),
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
                *page = Some(ResidentPage {
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

    /// The time at which the next reservation comes of age, if any.
    pub(crate) fn next_due(&self) -> Option<u64> {
        self.due.first().map(|&(time, _)| time)
    }

    /// Rule 13: promotes the blocks that are due before the access with this time.
    pub(crate) fn time_passes(&mut self, time: u64) {
        while let Some(&(due, key)) = self.due.first() {
            if due > time {
                return;
            }
            self.due.pop_first();
            let PolicySpec::Life(x) = self.policy else {
                return;
            };
            // The reservation may have ended, and another may exist now.
            let reservation = self.blocks.get(&key).and_then(|block| block.reservation);
            if reservation.is_some_and(|r| !r.promoted && r.created.saturating_add(x) == due) {
                self.ask_host(key);
            }
        }
    }

    /// The figures of rules 20, 28 and 29 for the superpages at the end.
    pub(crate) fn finish(mut self) -> (OracleCounts, BTreeSet<BlockKey>) {
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
