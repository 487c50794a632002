//! Random operations: every frame has one use and all books agree, by [`System::check`] after each.

use crate::common::scripted::Scripted;
use crate::common::*;
use broadleaf_memory::frames::{ALLOCATORS, Start};
use broadleaf_memory::system::{Files, OutOfMemory, Spec};
use broadleaf_memory::{AddressSpaces, Backing, Change, Mapping};
use broadleaf_policy::{
    Copies, Effort, Needs, PageDaemon, Placement, Point, PromotionOrder, ReadAround, Scan,
    StoreToShared, Without,
};
use broadleaf_units::{FileId, PageNumber, PageSize, Rights, SpaceId};
use std::ops::Range;

/// Draws numbers.
struct RandomChoices(u64);

impl RandomChoices {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// The points at which superpages are broken, if the policy does that.
const BROKEN_AT: &[Point] = &[Point::StoreToCleanSuperpage, Point::Short, Point::Freed];

/// Mechanisms that an experiment turned off: mostly none.
fn any_switches(random: &mut RandomChoices) -> Without {
    let mut off = || random.chance(10);
    Without {
        least_recent_victim: off(),
        preemption: off(),
        smallest_list: off(),
        partial_preemption: off(),
        coalescing: off(),
        cache_hits: off(),
        large_reservations: off(),
        closing: off(),
        clearing: off(),
    }
}

/// A policy that promotes from a part of a piece on, and does anything that a host can be asked
/// for.
fn any_policy(random: &mut RandomChoices) -> Scripted {
    let orders = [
        PromotionOrder::ByAddress,
        PromotionOrder::ByRank,
        PromotionOrder::Fair,
    ];
    let scan = random.chance(50).then(|| Scan {
        period: 5 + random.below(50),
        pages: random.below(3) * 512,
        promotions: random.below(3),
        order: orders[random.below(3) as usize],
    });
    let copies = [Copies::Never, Copies::Scattered, Copies::Always][random.below(3) as usize];
    Scripted {
        needs: Needs {
            asked_at_age: random.chance(30).then(|| random.below(40)),
            placement: [Placement::Reserved, Placement::AtFault][random.below(2) as usize],
            copies,
            files_stay: random.chance(30),
            every_size: random.chance(50),
            asked_when_freed: random.chance(50),
            wires_together: random.chance(50),
            scan,
            asked_when_short: random.chance(50),
            asked_when_used_again: random.chance(50),
            fault_around: [0, 4][random.below(2) as usize],
            zero_page: random.chance(40),
            zeroed_ahead: random.below(2) * 50_000,
            daemon: [
                PageDaemon::OldestFirst,
                PageDaemon::ForContiguity,
                PageDaemon::CompletingBlocks,
            ][random.below(3) as usize],
            ignores_zeroed: random.chance(20),
            digests: random.chance(20),
            without: any_switches(random),
            preempts_oldest: random.chance(40),
            gathers: random.chance(30),
            repairs: copies != Copies::Never && random.chance(15),
            early_restart: random.chance(20),
            odd_sizes: random.chance(20),
            by_object: random.chance(40),
            counts_by_object: random.chance(50),
            read_around: [ReadAround::No, ReadAround::Block, ReadAround::Next(2)]
                [random.below(3) as usize],
            store_to_shared: [
                StoreToShared::Page,
                StoreToShared::Placed,
                StoreToShared::Superpage,
            ][random.below(3) as usize],
            ..Needs::default()
        },
        promotes_at: Point::ALL,
        quarters: random.below(5) as u32,
        effort: [Effort::None, Effort::Later, Effort::Now][random.below(3) as usize],
        demotes_at: if random.chance(50) { BROKEN_AT } else { &[] },
    }
}

/// The pages in which everything happens.
const PAGES: u64 = 96;

fn range(random: &mut RandomChoices) -> Range<u64> {
    let start = random.below(PAGES);
    start..start + 1 + random.below(PAGES - start)
}

fn mapping(random: &mut RandomChoices, spaces: &mut AddressSpaces, space: SpaceId) -> Mapping {
    let pages = pages(range(random));
    let backing = match random.below(5) {
        0 => Backing::File {
            file: FileId(random.below(2) as u32),
            offset: (pages.start & !7) << 12,
        },
        1 => spaces.shared_memory(space, pages),
        _ => Backing::Anonymous,
    };
    Mapping {
        pages,
        rights: Rights::READ_WRITE,
        shared: random.chance(30),
        backing,
    }
}

/// Lists the parent's mappings in a child.
fn list_inherited(spaces: &mut AddressSpaces, parent: SpaceId, child: SpaceId) -> Vec<Change> {
    let mut changes = Vec::new();
    for page in 0..PAGES {
        let Some(mapping) = spaces.mapping_at(parent, page) else {
            continue;
        };
        let pages = pages(page..page + 1);
        let ahead = page - mapping.pages.start;
        let backing = match mapping.backing {
            Backing::SharedMemory { .. } => spaces.shared_memory(child, pages),
            Backing::File { file, offset } => Backing::File {
                file,
                offset: offset + (ahead << 12),
            },
            other => other,
        };
        changes.extend(spaces.map(
            child,
            Mapping {
                pages,
                backing,
                ..mapping
            },
        ));
    }
    changes
}

/// A small memory, with a few page sizes.
fn any_spec(random: &mut RandomChoices, seed: u64) -> Spec {
    let frames = 24 + random.below(200);
    let orders: &[u8] =
        [&[0, 1, 2, 3][..], &[0, 3], &[0, 2, 4], &[0, 1, 5]][random.below(4) as usize];
    let start = if random.chance(50) {
        Start::Empty
    } else {
        Start::Grouped {
            occupied: 0.3,
            fragmentation: None,
            movable: 0.5,
            seed,
        }
    };
    Spec {
        base: PageSize::from_shift(12 + (random.chance(30)) as u8).expect("a size"),
        start: start.lay_out_in(frames, 6, 3).expect("a layout").into(),
        swap: random.below(3) * 60,
        files: [Files::OnDisk, Files::InMemory][random.below(2) as usize],
        allocator: ALLOCATORS[seed as usize % ALLOCATORS.len()],
        ..spec(orders, frames)
    }
}

/// One run of `operations` operations.
fn run(seed: u64, operations: u64) {
    let mut random = RandomChoices(seed);
    let policy = any_policy(&mut random);
    let spec = any_spec(&mut random, seed);
    let mut world = TestMemory::new(&policy, &spec);
    world.spaces.file(FileId(0), PAGES << 12);
    world.spaces.file(FileId(1), 40 << 12);
    let mut children = 0;
    let mut time = 0;
    for _ in 0..operations {
        let space = SpaceId(random.below(3) as u32);
        match random.below(100) {
            0..=4 => {
                let mapping = mapping(&mut random, &mut world.spaces, space);
                world.map_as(space, mapping);
            }
            5..=6 => world.unmap(space, range(&mut random)),
            7 if random.chance(30) => world.remove(space, range(&mut random)),
            7 => world.discard(space, range(&mut random)),
            8 => {
                let rights = Rights {
                    write: random.chance(50),
                    ..Rights::READ_WRITE
                };
                world.protect(space, range(&mut random), rights);
            }
            9 => {
                let from = range(&mut random);
                let at = random.below(PAGES);
                let pages = from.end - from.start;
                world.remap(space, from, at..at + pages);
            }
            10 => {
                // Numbers of processes are used again.
                children = (children + 1) % 4;
                world.fork_unheard(space, children);
                if random.chance(70) {
                    let child = SpaceId((space.0 + 1) % 3);
                    world.end(child);
                    world.begin(child, children);
                    if random.chance(70) {
                        let changes = list_inherited(&mut world.spaces, space, child);
                        world.apply(&changes);
                    }
                }
            }
            11 if random.chance(10) => world.end(space),
            12 => world.freed(space, range(&mut random)),
            _ => {
                let page = random.below(PAGES);
                let page = world.system.base_page(PageNumber(page));
                let store = random.chance(40);
                time += 1;
                world.system.pass(&world.spaces, time);
                match world.reference(space, page, store) {
                    Ok(level) => assert!(level < spec.sizes.levels()),
                    Err(OutOfMemory) => world.end(space),
                }
            }
        }
    }
    let _sample = world.system.sample();
    let totals = world.system.totals(&world.spaces);
    assert!(
        totals.common.extra_zeroed_pages
            <= world.counters().resident + world.counters().zeroed_and_gone
    );
}

/// The number of operations of all runs, unless the environment sets another.
fn operations() -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "how much a test does is the tester's to say"
    )]
    let asked = std::env::var("BROADLEAF_OPERATIONS");
    asked
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(20_000)
}

#[test]
fn no_frame_is_lost_or_owned_twice() {
    const EACH: u64 = 500;
    for seed in 0..operations().div_ceil(EACH) {
        run(seed, EACH);
    }
}
