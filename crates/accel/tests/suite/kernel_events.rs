//! Events of an instrumented kernel: reservations are the kernel's, and its changes of memory and
//! of translations apply. A naive model replays random streams with the oracle's TLB.

use crate::common::{READ, READ_WRITE, load, range, result, store};
use broadleaf_metrics::CellResult;
use broadleaf_model::Items;
use broadleaf_oracle::{AgedTlb, FoundIn, OracleMachine, PageSizeKind};
use broadleaf_trace::{Event, Grain, KernelAction, KernelEvent, SystemEvent, TagFlush};
use broadleaf_units::{Rights, SpaceId, SplitMix64, VirtAddr};
use std::collections::{BTreeMap, BTreeSet};

/// The base pages of a block.
const PAGES: u64 = 512;
/// The blocks of a space, and the pages of each that are referenced.
const BLOCKS: u64 = 12;
const USED: u64 = 6;
const SPACES: u64 = 3;

/// The naive policies.
#[derive(Clone, Copy, Debug)]
enum NaivePolicy {
    Never,
    Populated(usize),
    Dirty(usize),
}

/// A block of a space.
#[derive(Clone, Debug, Default)]
struct NaiveBlock {
    /// The kernel reserved the block.
    told: bool,
    /// A fault has used the reservation.
    held: bool,
    promoted: bool,
    resident: BTreeSet<u64>,
    used: BTreeSet<u64>,
    dirty: BTreeSet<u64>,
    /// The pages that can only be read.
    read_only: BTreeSet<u64>,
}

impl NaiveBlock {
    /// Removes pages, and returns how many of them a promotion had filled for nothing.
    fn remove(&mut self, pages: impl Iterator<Item = u64>) -> u64 {
        let mut filled = 0;
        for page in pages {
            filled += u64::from(self.resident.remove(&page) && !self.used.contains(&page));
            self.used.remove(&page);
            self.dirty.remove(&page);
        }
        self.held &= !self.resident.is_empty();
        filled
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct NaiveCounts {
    faults: u64,
    promotions: u64,
    demotions: u64,
    first_misses: u64,
    walks: u64,
    zeroed: u64,
    part_filled: u64,
}

impl NaiveCounts {
    fn of(found: &CellResult) -> Self {
        let memory = found.memory.as_ref().expect("a model of frames");
        Self {
            faults: found.page_faults,
            promotions: found.promotions,
            demotions: found.demotions,
            first_misses: found.l1_misses,
            walks: found.l2_misses,
            zeroed: found.extra_zeroed_pages,
            part_filled: memory.part_filled_superpages_broken.expect("a kernel's"),
        }
    }
}

struct NaiveKernel {
    policy: NaivePolicy,
    random: SplitMix64,
    items: Items,
    tlb: AgedTlb,
    running: SpaceId,
    blocks: BTreeMap<(SpaceId, u64), NaiveBlock>,
    counts: NaiveCounts,
}

impl NaiveKernel {
    fn new(policy: NaivePolicy, seed: u64) -> Self {
        let mut items = Items::new(Grain::Page).of_system();
        items.event(Event::System(SystemEvent::Space(SpaceId(1))));
        let mut kernel = Self {
            policy,
            random: SplitMix64::new(seed),
            items,
            tlb: AgedTlb::new(OracleMachine::Skylake),
            running: SpaceId(1),
            blocks: BTreeMap::new(),
            counts: NaiveCounts::default(),
        };
        // From here on, the reservations are the kernel's.
        kernel.create((SpaceId(1), 0));
        kernel
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.random.next() % limit
    }

    fn emit(&mut self, space: SpaceId, action: KernelAction) {
        self.items
            .event(Event::Kernel(KernelEvent { space, action }));
    }

    fn any_block(&mut self) -> (SpaceId, u64) {
        let space = SpaceId(1 + self.below(SPACES) as u32);
        (space, self.below(BLOCKS))
    }

    fn block(&mut self, at: (SpaceId, u64)) -> &mut NaiveBlock {
        self.blocks.entry(at).or_default()
    }

    /// Drops the translations that overlap pages of a block.
    fn drop_pages(&mut self, at: (SpaceId, u64), pages: std::ops::Range<u64>) {
        let first = at.1 * PAGES;
        let pages = first + pages.start..first + pages.end;
        self.tlb.remove_pages(at.0, &pages);
        self.tlb.remove_superpage(at.0, at.1);
    }

    fn demote(&mut self, at: (SpaceId, u64)) {
        if std::mem::take(&mut self.block(at).promoted) {
            self.counts.demotions += 1;
            self.tlb.remove_superpage(at.0, at.1);
        }
    }

    /// Pages of a block go. A superpage of which others stay is broken.
    fn release(&mut self, at: (SpaceId, u64), pages: std::ops::Range<u64>) {
        if pages != (0..PAGES) {
            self.demote(at);
        }
        let block = self.block(at);
        block.promoted = false;
        if block.resident.range(pages.clone()).next().is_some() {
            let zeroed = block.remove(pages.clone());
            self.counts.zeroed += zeroed;
            self.drop_pages(at, pages);
        }
    }

    fn create(&mut self, at: (SpaceId, u64)) {
        self.emit(at.0, KernelAction::ReservationCreated(VirtAddr(at.1 << 21)));
        self.release(at, 0..PAGES);
        self.block(at).told = true;
    }

    fn free(&mut self, at: (SpaceId, u64)) {
        self.emit(at.0, KernelAction::ReservationFreed(VirtAddr(at.1 << 21)));
        self.release(at, 0..PAGES);
        self.block(at).told = false;
    }

    fn break_up(&mut self, at: (SpaceId, u64)) {
        self.emit(at.0, KernelAction::ReservationBroken(VirtAddr(at.1 << 21)));
        let block = self.block(at);
        let unused: Vec<u64> = block.resident.difference(&block.used).copied().collect();
        let part_filled = block.promoted && !unused.is_empty();
        self.counts.part_filled += u64::from(part_filled);
        self.demote(at);
        for page in unused {
            self.release(at, page..page + 1);
        }
        let block = self.block(at);
        (block.told, block.held) = (false, false);
    }

    /// A part of a block, or all of it.
    fn part(&mut self) -> std::ops::Range<u64> {
        match self.below(3) {
            0 => 0..PAGES,
            _ => {
                let start = self.below(USED);
                start..start + 1 + self.below(PAGES - start)
            }
        }
    }

    fn change(&mut self) {
        let at = self.any_block();
        let pages = self.part();
        let place = range(at.1 * PAGES + pages.start, pages.end - pages.start);
        match self.below(3) {
            0 => {
                self.emit(at.0, KernelAction::Unmapped(place));
                self.release(at, pages.clone());
                let block = self.block(at);
                block.read_only.retain(|page| !pages.contains(page));
            }
            1 => {
                self.emit(at.0, KernelAction::PagedOut(place));
                self.release(at, pages);
            }
            _ => {
                let read_only = self.below(2) == 0;
                self.protect(at, pages, read_only);
            }
        }
    }

    fn protect(&mut self, at: (SpaceId, u64), pages: std::ops::Range<u64>, read_only: bool) {
        let rights: Rights = if read_only { READ } else { READ_WRITE };
        let place = range(at.1 * PAGES + pages.start, pages.end - pages.start);
        self.emit(at.0, KernelAction::Protected(place, rights));
        // Each run of pages whose rights change is protected by itself.
        let changes = |block: &NaiveBlock, page| block.read_only.contains(&page) != read_only;
        let mut page = pages.start;
        while page < pages.end {
            let block = self.block(at);
            let end = (page..pages.end).find(|page| !changes(block, *page));
            let end = end.unwrap_or(pages.end);
            if end == page {
                page += 1;
                continue;
            }
            if (page..end) != (0..PAGES) {
                self.demote(at);
            }
            if self.block(at).resident.range(page..end).next().is_some() {
                self.drop_pages(at, page..end);
            }
            for page in page..end {
                let block = self.block(at);
                match read_only {
                    true => block.read_only.insert(page),
                    false => block.read_only.remove(&page),
                };
            }
            page = end;
        }
    }

    fn flush(&mut self) {
        let at = self.any_block();
        let page = self.below(USED);
        let address = VirtAddr(((at.1 * PAGES + page) << 12) + 9);
        match self.below(6) {
            0 => {
                self.emit(at.0, KernelAction::PageFlushed(address));
                self.drop_pages(at, page..page + 1);
            }
            1 => {
                let flush = TagFlush::Page(address);
                self.emit(at.0, KernelAction::TagFlushed(flush));
                self.drop_pages(at, page..page + 1);
            }
            2 => {
                self.emit(at.0, KernelAction::SpaceFlushed);
                self.flush_spaces(at.0.0..at.0.0 + 1);
            }
            3 => {
                self.emit(at.0, KernelAction::TagFlushed(TagFlush::Space));
                self.flush_spaces(at.0.0..at.0.0 + 1);
            }
            4 => {
                self.emit(at.0, KernelAction::AllFlushed);
                self.flush_spaces(1..SPACES as u32 + 1);
            }
            _ => {
                self.emit(at.0, KernelAction::TagFlushed(TagFlush::AllButGlobal));
                self.flush_spaces(1..SPACES as u32 + 1);
            }
        }
    }

    fn flush_spaces(&mut self, spaces: std::ops::Range<u32>) {
        for space in spaces {
            for block in 0..BLOCKS {
                self.drop_pages((SpaceId(space), block), 0..PAGES);
            }
        }
    }

    fn refer(&mut self) {
        let at = (self.running, self.below(BLOCKS));
        let (offset, stores) = (self.below(USED), self.below(3) == 0);
        let page = at.1 * PAGES + offset;
        self.items
            .visits([if stores { store(page) } else { load(page) }]);
        let policy = self.policy;
        let block = self.blocks.entry(at).or_default();
        let faults = block.resident.insert(offset);
        if faults {
            self.counts.faults += 1;
            block.held |= block.told && block.resident.len() == 1;
        }
        block.used.insert(offset);
        let first_store = stores && block.dirty.insert(offset);
        if faults || first_store {
            let enough = match policy {
                NaivePolicy::Never => false,
                NaivePolicy::Populated(pages) => block.resident.len() >= pages,
                NaivePolicy::Dirty(pages) => block.dirty.len() >= pages,
            };
            let rights = block.read_only.len();
            let covered = rights == 0 || rights == PAGES as usize;
            if enough && covered && block.held && !block.promoted {
                block.promoted = true;
                block.resident.extend(0..PAGES);
                self.counts.promotions += 1;
            }
        }
        let kind = match block.promoted {
            true => PageSizeKind::Super,
            false => PageSizeKind::Base,
        };
        let found = self.tlb.lookup(at.0, page, kind);
        self.counts.first_misses += u64::from(found != FoundIn::FirstLevel);
        self.counts.walks += u64::from(found == FoundIn::Walk);
    }

    fn step(&mut self) {
        let at = self.any_block();
        match self.below(60) {
            0 => {
                self.running = SpaceId(1 + self.below(SPACES) as u32);
                self.items
                    .event(Event::System(SystemEvent::Space(self.running)));
            }
            1 | 2 => self.create(at),
            3 => self.free(at),
            4 => self.break_up(at),
            5 | 6 => self.change(),
            7 => self.flush(),
            8 => {
                // The kernel's own superpages concern the policy that follows them.
                let start = VirtAddr(at.1 << 21);
                self.emit(at.0, KernelAction::Promoted(start));
                self.emit(at.0, KernelAction::Demoted(start));
            }
            9 => {
                self.emit(at.0, KernelAction::Shared(VirtAddr(at.1 << 21)));
                self.block(at).told = true;
            }
            _ => self.refer(),
        }
    }

    /// The counts at the end: pages that are filled and unused then count too.
    fn counts(mut self) -> NaiveCounts {
        for block in self.blocks.values() {
            self.counts.zeroed += block.resident.difference(&block.used).count() as u64;
        }
        self.counts
    }
}

#[test]
fn the_kernels_reservations_take_the_place_of_ours() {
    let policies = [
        ("4k", NaivePolicy::Never),
        ("greedy", NaivePolicy::Populated(1)),
        ("pop-3", NaivePolicy::Populated(3)),
        ("dirty-2", NaivePolicy::Dirty(2)),
    ];
    let mut broken = 0;
    for seed in 0..6 {
        for (name, policy) in policies {
            let mut kernel = NaiveKernel::new(policy, seed);
            (0..3000).for_each(|_| kernel.step());
            let found = NaiveCounts::of(&result(&kernel.items, name));
            broken += found.part_filled;
            assert_eq!(found, kernel.counts(), "{name}, seed {seed}");
        }
    }
    assert!(broken > 15, "superpages are broken part-filled: {broken}");
}
