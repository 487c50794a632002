//! Recordings of whole systems: the recorded page tables give the sizes of pages, the kernel's
//! addresses are one space, and recorded invalidations drop translations. A naive model replays
//! random streams with the oracle's TLB.

use crate::common::{load, loads, result};
use broadleaf_accel::run;
use broadleaf_machine::machines_of_grid;
use broadleaf_metrics::CellResult;
use broadleaf_model::{Items, MemoryLimits, Plan};
use broadleaf_oracle::{AgedTlb, FoundIn, OracleMachine, PageSizeKind};
use broadleaf_trace::{Event, FaultStep, Grain, GuestLeaf, Invalidation, SystemEvent};
use broadleaf_units::{Rights, SpaceId, SplitMix64, VirtAddr};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// The first page of the kernel's addresses.
const KERNEL_PAGES: u64 = 0xffff_8000_0000_0000 >> 12;
const KERNEL: SpaceId = SystemEvent::KERNEL;

/// A page size and a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Leaf {
    large: bool,
    frame: u64,
}

fn event_of(page: u64, leaf: Leaf) -> Event {
    Event::System(SystemEvent::Leaf(GuestLeaf {
        start: VirtAddr(page << 12),
        shift: if leaf.large { 21 } else { 12 },
        physical: leaf.frame << if leaf.large { 21 } else { 12 },
        rights: Rights::READ_WRITE,
        user: page < KERNEL_PAGES,
        global: page >= KERNEL_PAGES,
    }))
}

/// A guest that makes a random stream, and the naive counts of its lookups.
struct NaiveGuest {
    random: SplitMix64,
    items: Items,
    tlb: AgedTlb,
    running: SpaceId,
    /// The leaves that the page tables hold now, by space and first page.
    tables: BTreeMap<(SpaceId, u64), Leaf>,
    blocks: BTreeSet<(SpaceId, u64)>,
    first_misses: u64,
    walks: u64,
    kernel_walks: u64,
    faults: u64,
}

impl NaiveGuest {
    fn new(seed: u64) -> Self {
        let mut items = Items::new(Grain::Page).of_system();
        items.event(Event::System(SystemEvent::Space(SpaceId(1))));
        Self {
            random: SplitMix64::new(seed),
            items,
            tlb: AgedTlb::new(OracleMachine::Skylake),
            running: SpaceId(1),
            tables: BTreeMap::new(),
            blocks: BTreeSet::new(),
            first_misses: 0,
            walks: 0,
            kernel_walks: 0,
            faults: 0,
        }
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.random.next() % limit
    }

    fn event(&mut self, event: SystemEvent) {
        self.items.event(Event::System(event));
    }

    fn page(&mut self) -> (SpaceId, u64) {
        let page = self.below(40) * 512 + self.below(12) * 3;
        match self.below(3) {
            0 => (KERNEL, KERNEL_PAGES + page),
            _ => (self.running, page),
        }
    }

    fn drop(&mut self, space: SpaceId, page: u64, pages: u64) {
        self.tlb.remove_pages(space, &(page..page + pages));
        let held: Vec<u64> = (self.blocks.iter())
            .filter(|(of, block)| {
                *of == space && block * 512 < page + pages && page < (block + 1) * 512
            })
            .map(|(_, block)| *block)
            .collect();
        for block in held {
            self.tlb.remove_superpage(space, block);
        }
    }

    /// Reports a leaf, and drops what became stale with it.
    fn tell(&mut self, space: SpaceId, page: u64, leaf: Leaf) {
        let block = page / 512;
        self.blocks.insert((space, block));
        let first = block * 512;
        let was_large = self
            .tables
            .get(&(space, first))
            .is_some_and(|old| old.large);
        if leaf.large {
            self.items.event(event_of(first, leaf));
            let old = self.tables.get(&(space, first)).copied();
            if old.is_some() && old != Some(leaf) {
                self.drop(space, first, 512);
            }
            let of_block: Vec<_> = (self.tables.range((space, first)..(space, first + 512)))
                .map(|(key, _)| *key)
                .collect();
            if !was_large {
                self.drop(space, first, 512);
            }
            of_block.iter().for_each(|key| {
                self.tables.remove(key);
            });
            self.tables.insert((space, first), leaf);
            return;
        }
        self.items.event(event_of(page, leaf));
        if was_large {
            self.tlb.remove_superpage(space, block);
            self.tables.remove(&(space, first));
        }
        // No frame of a base page comes twice here, so each reported leaf has changed.
        self.tlb.remove_pages(space, &(page..page + 1));
        self.tables.insert((space, page), leaf);
    }

    fn leaf_of(&self, space: SpaceId, page: u64) -> Option<Leaf> {
        let large = self.tables.get(&(space, page / 512 * 512));
        let large = large.filter(|leaf| leaf.large);
        large.or_else(|| self.tables.get(&(space, page))).copied()
    }

    fn refer(&mut self) {
        let (space, page) = self.page();
        let leaf = match self.leaf_of(space, page) {
            Some(leaf) => leaf,
            None => {
                let leaf = Leaf {
                    large: self.below(4) == 0,
                    frame: self.random.next() >> 30,
                };
                self.tell(space, page, leaf);
                leaf
            }
        };
        self.items.visits([load(page)]);
        let kind = match leaf.large {
            true => PageSizeKind::Super,
            false => PageSizeKind::Base,
        };
        let found = self.tlb.lookup(space, page, kind);
        self.first_misses += u64::from(found != FoundIn::FirstLevel);
        self.walks += u64::from(found == FoundIn::Walk);
        self.kernel_walks += u64::from(found == FoundIn::Walk && space == KERNEL);
    }

    fn step(&mut self) {
        match self.below(40) {
            0 => {
                self.running = SpaceId(1 + self.below(3) as u32);
                self.event(SystemEvent::Space(self.running));
            }
            1 => {
                let (space, page) = self.page();
                if self.leaf_of(space, page).is_some() {
                    let leaf = Leaf {
                        large: self.below(3) == 0,
                        frame: self.random.next() >> 30,
                    };
                    self.tell(space, page, leaf);
                }
            }
            2 => {
                let (space, page) = self.page();
                let address = VirtAddr((page << 12) + 5);
                self.event(SystemEvent::Invalidate(Invalidation::Page(address)));
                self.drop(space, page, 1);
            }
            3 if self.below(4) == 0 => {
                self.event(SystemEvent::Invalidate(Invalidation::Space));
                self.drop(self.running, 0, 1 << 51);
            }
            3 if self.below(4) == 0 => {
                self.event(SystemEvent::Invalidate(Invalidation::Everything));
                for space in (0..4).map(SpaceId) {
                    self.drop(space, 0, 1 << 52);
                }
            }
            4 => {
                self.event(SystemEvent::PageFault(FaultStep::Exception));
                self.event(SystemEvent::PageFault(FaultStep::Handled));
                self.faults += 1;
            }
            5 => self.event(SystemEvent::Privilege(true)),
            _ => self.refer(),
        }
    }
}

#[test]
fn the_recorded_sizes_are_followed() {
    for seed in 0..60 {
        let mut guest = NaiveGuest::new(seed);
        (0..3000).for_each(|_| guest.step());
        let found = result(&guest.items, "guest");
        let memory = found.memory.as_ref().expect("a model of frames");
        assert_eq!(found.l1_misses, guest.first_misses, "seed {seed}");
        assert_eq!(found.l2_misses, guest.walks, "seed {seed}");
        assert_eq!(memory.kernel_walks, Some(guest.kernel_walks), "seed {seed}");
        assert_eq!(found.page_faults, guest.faults, "seed {seed}");
    }
}

/// A stream of one program and the kernel, which use one block each.
fn one_block() -> Items {
    let mut items = Items::new(Grain::Page).of_system();
    items.event(Event::System(SystemEvent::Space(SpaceId(1))));
    for page in (0..512).chain(KERNEL_PAGES..KERNEL_PAGES + 512) {
        let leaf = Leaf {
            large: false,
            frame: page & 0xfff_ffff,
        };
        items.event(event_of(page, leaf));
        items.visits([load(page)]);
    }
    items
}

#[test]
fn other_policies_change_the_pages_of_programs_alone() {
    let items = one_block();
    let kernel_walks = |policy: &str| {
        let found = result(&items, policy);
        let memory = found.memory.as_ref().expect("a model of frames");
        (found.promotions, found.walks.total(), memory.kernel_walks)
    };
    assert_eq!(kernel_walks("guest"), (0, 1024, Some(512)));
    assert_eq!(kernel_walks("4k"), (0, 1024, Some(512)));
    assert_eq!(kernel_walks("greedy"), (1, 513, Some(512)));
}

/// A program and the kernel use four blocks each, in rounds that exceed the TLB. Much time passes
/// between two rounds.
fn four_blocks(rounds: u64) -> Items {
    let mut items = Items::new(Grain::Page).of_system();
    items.event(Event::System(SystemEvent::Space(SpaceId(1))));
    let pages = || (0..2048).chain(KERNEL_PAGES..KERNEL_PAGES + 2048);
    for page in pages() {
        let leaf = Leaf {
            large: false,
            frame: page & 0xfff_ffff,
        };
        items.event(event_of(page, leaf));
    }
    for _ in 0..rounds {
        items.visits(pages().map(load));
        items.visits([loads(0, u32::MAX)]);
    }
    items
}

/// Daemons that scan the spaces, and policies that are charged with misses.
#[test]
fn daemons_and_misses_change_the_pages_of_programs_alone() {
    const ROUNDS: u64 = 60;
    let items = four_blocks(ROUNDS);
    for policy in ["ingens", "approx-online"] {
        let found = result(&items, policy);
        let memory = found.memory.as_ref().expect("a model of frames");
        assert!(
            (1..=4).contains(&found.promotions),
            "{policy}: {}",
            found.promotions
        );
        assert_eq!(memory.kernel_walks, Some(ROUNDS * 2048), "{policy}");
    }
}

/// A policy with foresight is refused: nothing finds its promotions in the recorded page tables.
#[test]
fn foresight_is_refused() {
    let machine = broadleaf_machine::machine("skylake").expect("a machine");
    let policy = broadleaf_policy::parse("foresight").expect("a policy");
    let plan = Plan::new(vec![policy], vec![machine]).expect("a plan");
    let found = run(&mut one_block(), &plan, &mut |_| ControlFlow::Continue(()));
    let error = found.expect_err("an error").to_string();
    assert!(
        error.contains("foresight") && error.contains("whole system"),
        "{error}"
    );
}

/// Machines that observe one memory count what each counts alone.
#[test]
fn machines_beside_others_count_the_same() {
    const GRIDS: [&str; 3] = [
        "single:entries=24,replacement=lru",
        "coalesced:entries=24,block=16k,replacement=lru",
        "complete-subblock:entries=8,block=64k,preload=true",
    ];
    let machine_of = |grid: &&str| machines_of_grid(grid).expect("a grid").remove(0);
    let replayed = |items: &Items, policy: &str, grids: &[&str]| {
        let policy = broadleaf_policy::parse(policy).expect("a policy");
        let machines = grids.iter().map(machine_of).collect();
        let plan = Plan::within_one_memory(vec![policy], machines, MemoryLimits::none());
        let plan = plan.expect("a plan");
        let found = run(
            &mut items.clone(),
            &plan,
            &mut |_| ControlFlow::Continue(()),
        );
        let results = found.expect("a replay").results;
        let counts = |of: &CellResult| {
            let kernel_walks = of.memory.as_ref().and_then(|memory| memory.kernel_walks);
            (of.l1_misses, of.walks.total(), kernel_walks)
        };
        results.iter().map(counts).collect::<Vec<_>>()
    };
    for seed in 0..6 {
        let mut guest = NaiveGuest::new(seed);
        (0..3000).for_each(|_| guest.step());
        for policy in ["4k", "guest"] {
            let together = replayed(&guest.items, policy, &GRIDS);
            for (grid, found) in GRIDS.iter().zip(together) {
                let alone = replayed(&guest.items, policy, &[grid]);
                assert_eq!(alone, [found], "{policy} on {grid}, seed {seed}");
            }
        }
    }
}

/// Two programs use the kernel's page in turn. Its translation is global, so it is walked once.
#[test]
fn the_kernels_pages_are_global() {
    let mut items = Items::new(Grain::Page).of_system();
    let leaf = Leaf {
        large: true,
        frame: 3,
    };
    items.event(event_of(KERNEL_PAGES, leaf));
    for round in 0..10 {
        let space = SpaceId(1 + round % 2);
        items.event(Event::System(SystemEvent::Space(space)));
        items.visits([load(KERNEL_PAGES + 7), load(9)]);
    }
    let found = result(&items, "guest");
    let memory = found.memory.as_ref().expect("a model of frames");
    assert_eq!(memory.kernel_walks, Some(1));
    // Page 9 of each program.
    assert_eq!(found.l2_misses, 3);
}

/// A page that was quiet in the kernel's space is another page in a program's space.
#[test]
fn quiet_pages_belong_to_their_space() {
    let mut items = Items::new(Grain::Page).of_system();
    items.visits([load(9), load(9), load(9)]);
    items.event(Event::System(SystemEvent::Space(SpaceId(1))));
    items.visits([load(KERNEL_PAGES + 7), load(9)]);
    // A clock leaves quiet lookups out.
    let machines = machines_of_grid("single:entries=24,replacement=clock").expect("a grid");
    let policy = broadleaf_policy::parse("4k").expect("a policy");
    let plan = Plan::new(vec![policy], machines).expect("a plan");
    let found = run(&mut items, &plan, &mut |_| ControlFlow::Continue(()));
    assert_eq!(found.expect("a replay").results[0].l1_misses, 3);
}

#[test]
fn a_flush_of_everything_reaches_the_last_page() {
    let last = (1 << 52) - 1;
    let mut items = Items::new(Grain::Page).of_system();
    items.visits([load(last)]);
    items.event(Event::System(SystemEvent::Invalidate(
        Invalidation::Everything,
    )));
    items.visits([load(last)]);
    assert_eq!(result(&items, "guest").l2_misses, 2);
}
