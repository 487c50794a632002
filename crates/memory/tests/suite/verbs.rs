//! The effect of each verb on a block, by hand.

mod moves;
mod random;

use broadleaf_memory::{
    AddressSpaces, Backing, BlockId, ByKind, Change, GEOMETRY, Histories, Mapping, Memory,
    MemoryTotals, PAGES_PER_BLOCK, Pages, Shootdown, Touched, UnpackedBlock,
};
use broadleaf_policy::Coverage;
use broadleaf_units::{
    AlignedRun, BackingKind, BlockNumber, PageNumber, PageSize, Rights, SpaceId,
};
use std::collections::BTreeSet;

const SPACE: SpaceId = SpaceId(0);
const BLOCK: u64 = PAGES_PER_BLOCK as u64;

fn pages(start: u64, count: u64) -> Pages {
    Pages {
        start,
        end: start + count,
    }
}

fn anonymous(start: u64, count: u64) -> Mapping {
    Mapping {
        pages: pages(start, count),
        rights: Rights::READ_WRITE,
        shared: false,
        backing: Backing::Anonymous,
    }
}

/// Both halves of memory, wired as the replay wires them.
struct VerbMemory {
    spaces: AddressSpaces,
    memory: Memory,
    histories: Histories,
    touched: Touched,
    now: u64,
}

/// A count of which nothing is a file's.
fn of_anonymous(count: u64) -> ByKind {
    ByKind {
        anonymous: count,
        file: 0,
    }
}

impl VerbMemory {
    fn totals(&self) -> MemoryTotals {
        (self.memory).totals(&self.histories, |block| self.spaces.backing(block, 0))
    }

    /// One space in which `blocks` blocks are mapped, from address 0 on.
    fn new(blocks: u64) -> Self {
        let mut world = Self {
            spaces: AddressSpaces::new(BTreeSet::from([SPACE])),
            memory: Memory::new(),
            histories: Histories::new(),
            touched: Touched::new(),
            now: 0,
        };
        assert!(world.spaces.list_mappings(SPACE));
        let changes = world.spaces.map(SPACE, anonymous(0, blocks * BLOCK));
        world.apply(&changes);
        world
    }

    fn apply(&mut self, changes: &[Change]) -> Vec<Shootdown> {
        self.make_room();
        let shootdowns = changes
            .iter()
            .map(|change| {
                let shootdown = self.memory.apply(change, &self.histories);
                self.histories.apply(change);
                shootdown
            })
            .collect();
        self.memory.check(&self.histories);
        shootdowns
    }

    fn block(&mut self, page: u64) -> BlockId {
        let block = self
            .spaces
            .block(SPACE, GEOMETRY.block_of(PageNumber(page)));
        self.spaces.prepare(block);
        self.make_room();
        block
    }

    fn make_room(&mut self) {
        self.memory.make_room(self.spaces.blocks());
        self.histories.make_room(self.spaces.blocks());
        self.touched.make_room(self.spaces.blocks());
    }

    fn state(&self, block: BlockId) -> UnpackedBlock {
        self.memory.unpacked_block(block, &self.histories)
    }

    fn touch(&mut self, page: u64, store: bool) {
        let (block, offset) = (self.block(page), GEOMETRY.offset_in_block(PageNumber(page)));
        let facts = self.spaces.facts(block, offset);
        self.touched.note(block, offset, || facts.backing);
        let seen = self.histories.note(block, offset, store);
        if !self.memory.is_resident(block, offset, seen.used) {
            self.memory.fault(block, offset, self.now, facts.reservable);
        }
        if store && !seen.dirty {
            self.memory.dirty_page(block);
        }
        assert!(self.histories.is_settled(block, offset, store));
        self.now += 1;
        self.memory.check(&self.histories);
    }

    fn promote(&mut self, page: u64) {
        let block = self.block(page);
        if self.spaces.facts(block, 0).coverage == Coverage::Covered {
            assert_eq!(
                self.memory.promote(block, BackingKind::Anonymous),
                Shootdown::Nothing
            );
        }
        self.memory.check(&self.histories);
    }
}

#[test]
fn a_promotion_fills_what_is_missing() {
    let mut world = VerbMemory::new(1);
    world.touch(3, true);
    let block = world.block(0);
    assert_eq!(world.state(block).reserved_at(), Some(0));
    world.promote(0);
    world.touch(4, false);
    let state = &world.state(block);
    assert!(state.is_promoted());
    assert_eq!(
        (state.populated(), state.dirty(), state.filled().count()),
        (512, 1, 510)
    );
    let totals = world.totals();
    assert_eq!(
        (
            totals.extra_zeroed_pages,
            totals.extra_disk_read_pages,
            totals.false_dirty_pages
        ),
        (510, 0, of_anonymous(511))
    );
    assert_eq!(totals.clean_pages_in_superpages, of_anonymous(511));
    assert_eq!(
        (
            world.memory.counters().page_faults,
            world.memory.counters().peak_resident
        ),
        (1, 512)
    );
    // A second time there is nothing to do.
    world.promote(0);
    assert_eq!(world.memory.counters().promotions, 1);
}

#[test]
fn losing_a_part_breaks_a_superpage_and_losing_all_does_not() {
    let mut world = VerbMemory::new(1);
    world.touch(0, true);
    world.promote(0);
    let changes = world.spaces.discard(SPACE, pages(0, 10));
    assert_eq!(
        world.apply(&changes),
        [Shootdown::Range {
            space: SPACE,
            pages: pages(0, 10)
        }]
    );
    let block = world.block(0);
    let state = &world.state(block);
    assert_eq!(
        (state.populated(), state.dirty(), state.is_promoted()),
        (502, 0, false)
    );
    assert_eq!(
        state.reserved_at(),
        Some(0),
        "the reservation keeps what is left"
    );
    assert_eq!(world.memory.counters().demotions, 1);
    assert_eq!(
        world.totals().extra_zeroed_pages,
        511,
        "removed pages count, and pages still there"
    );

    world.promote(0);
    let changes = world.spaces.unmap(SPACE, pages(0, BLOCK));
    world.apply(&changes);
    let state = &world.state(block);
    assert_eq!((state.populated(), state.reserved_at()), (0, None));
    assert_eq!(
        world.memory.counters().demotions,
        1,
        "a superpage that goes as a whole is not broken"
    );
    assert_eq!(
        world.totals().extra_zeroed_pages,
        511 + 10,
        "what was filled a second time went too"
    );
    // Nothing is left that a TLB could know.
    let changes = world.spaces.unmap(SPACE, pages(0, BLOCK));
    assert_eq!(world.apply(&changes), [Shootdown::Nothing]);
}

#[test]
fn protection_of_a_part_breaks_a_superpage() {
    let read = Rights {
        write: false,
        ..Rights::READ_WRITE
    };
    let mut world = VerbMemory::new(1);
    world.touch(0, false);
    world.promote(0);
    let changes = world
        .spaces
        .protect(SPACE, pages(0, BLOCK), Rights::READ_WRITE);
    assert!(changes.is_empty(), "these are the rights that it has");
    let changes = world.spaces.protect(SPACE, pages(0, BLOCK), read);
    assert_eq!(
        world.apply(&changes),
        [Shootdown::Range {
            space: SPACE,
            pages: pages(0, BLOCK)
        }]
    );
    assert_eq!(world.memory.counters().demotions, 0);
    let changes = world
        .spaces
        .protect(SPACE, pages(0, BLOCK - 1), Rights::READ_WRITE);
    world.apply(&changes);
    assert_eq!(world.memory.counters().demotions, 1);
    let block = world.block(0);
    assert_eq!(
        world.spaces.facts(block, 0).coverage,
        Coverage::MixedProtection
    );
    let changes = world
        .spaces
        .protect(SPACE, pages(0, BLOCK), Rights::READ_WRITE);
    world.apply(&changes);
    assert_eq!(
        world.spaces.facts(block, 0).coverage,
        Coverage::Covered,
        "the parts are one mapping again"
    );
}

#[test]
fn a_demotion_concerns_the_superpages_entry_alone() {
    let mut world = VerbMemory::new(2);
    world.touch(BLOCK, false);
    world.promote(BLOCK);
    let block = world.block(BLOCK);
    let place = (SPACE, BlockNumber(1));
    assert_eq!(world.spaces.place(block), place);
    let first = PageNumber(BLOCK);
    assert_eq!(
        world.memory.demote(block, place),
        Shootdown::Superpage {
            space: SPACE,
            run: AlignedRun {
                first,
                size: PageSize::SIZE_2M,
            },
        }
    );
    assert_eq!(world.memory.demote(block, place), Shootdown::Nothing);
    assert_eq!(world.state(block).populated(), 512);
}

#[test]
fn the_heap_grows_and_shrinks() {
    let mut world = VerbMemory::new(0);
    assert!(world.spaces.set_heap(SPACE, pages(0, 300)).is_empty());
    world.touch(5, true);
    let block = world.block(0);
    assert!(
        world.state(block).reserved_at().is_some(),
        "it may grow to fill the block"
    );
    assert_eq!(world.spaces.facts(block, 5).coverage, Coverage::NotCovered);
    let changes = world.spaces.set_heap(SPACE, pages(0, 600));
    world.apply(&changes);
    assert_eq!(world.spaces.facts(block, 5).coverage, Coverage::Covered);
    world.promote(0);
    let changes = world.spaces.set_heap(SPACE, pages(0, 100));
    world.apply(&changes);
    assert_eq!(
        (
            world.state(block).populated(),
            world.memory.counters().demotions
        ),
        (100, 1)
    );
}

#[test]
fn the_end_of_a_space_takes_everything() {
    let mut world = VerbMemory::new(3);
    for block in 0..3 {
        world.touch(block * BLOCK, true);
        world.promote(block * BLOCK);
    }
    let changes = world.spaces.end(SPACE);
    assert_eq!(world.apply(&changes), [Shootdown::Space(SPACE)]);
    assert_eq!(
        (
            world.memory.counters().resident,
            world.memory.counters().demotions
        ),
        (0, 0)
    );
    assert_eq!(world.totals().extra_zeroed_pages, 3 * 511);
    let touches = world.touched.touches();
    assert_eq!(
        (touches.pages.total(), touches.blocks.total()),
        (3, 3),
        "what was touched was touched"
    );
}

#[test]
fn a_block_is_prepared_until_its_space_changes() {
    let mut world = VerbMemory::new(3);
    let prepared = |world: &VerbMemory| world.spaces.prepared(SPACE, BlockNumber(1));
    assert_eq!(prepared(&world), None, "unknown");
    let block = world.spaces.block(SPACE, BlockNumber(1));
    assert_eq!(prepared(&world), None, "known, and nothing found out");
    world.spaces.prepare(block);
    assert_eq!(prepared(&world), Some(block));
    assert_eq!(world.spaces.prepared(SpaceId(1), BlockNumber(1)), None);
    let _changes = world.spaces.unmap(SPACE, pages(0, 1));
    assert_eq!(prepared(&world), None, "what was found out is old");
    world.spaces.prepare(block);
    assert_eq!(prepared(&world), Some(block));
}
