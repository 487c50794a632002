//! Whatever happens, in whatever order, every frame has one use and all books agree: [`System::check`] after every operation.

use broadleaf_memory::frames::Start;
use broadleaf_memory::population::Sizes;
use broadleaf_memory::system::{Costs, Files, OutOfMemory, Place, Spec, System};
use broadleaf_memory::{AddressSpaces, Backing, Change, Mapping, Pages, Rights};
use broadleaf_policy::{
    Copies, Effort, Needs, Order, PageDaemon, Placement, Point, Policy, Refusal, Scan, Verdict,
    View,
};
use broadleaf_units::{FileId, PageNumber, PageSize, SpaceId};
use std::collections::BTreeSet;

/// Draws numbers.
struct Random(u64);

impl Random {
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

/// A policy that promotes from a part of a piece on, and does all that a host can be asked for.
#[derive(Clone, Copy)]
struct Anything {
    needs: Needs,
    /// In quarters of the piece.
    from: u32,
    effort: Effort,
    demotes: bool,
}

impl Policy for Anything {
    fn name(&self) -> String {
        "anything".to_string()
    }

    fn needs(&self) -> Needs {
        self.needs
    }

    fn decide(&self, point: Point, view: &View) -> Verdict {
        match point {
            Point::StoreToCleanSuperpage | Point::Short | Point::Freed if self.demotes => {
                Verdict::Demote
            }
            Point::StoreToCleanSuperpage | Point::Short | Point::Freed => Verdict::Pass,
            _ => Verdict::promote_if(
                4 * view.populated >= self.from * view.pages,
                Refusal::TooFewResident,
            ),
        }
    }

    fn effort(&self, _: Point, _: &View) -> Effort {
        self.effort
    }

    fn rank(&self, view: &View) -> u64 {
        view.referenced_on_average.into()
    }
}

fn policy(random: &mut Random) -> Anything {
    let orders = [Order::AsTheyStand, Order::ByRank, Order::Fair];
    let scan = random.chance(50).then(|| Scan {
        period: 5 + random.below(50),
        pages: random.below(3) * 512,
        promotions: random.below(3),
        order: orders[random.below(3) as usize],
    });
    Anything {
        needs: Needs {
            asked_at_age: random.chance(30).then(|| random.below(40)),
            placement: [Placement::Reserved, Placement::AtFault][random.below(2) as usize],
            copies: [Copies::Never, Copies::Scattered, Copies::Always][random.below(3) as usize],
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
            daemon: [PageDaemon::OldestFirst, PageDaemon::ForContiguity][random.below(2) as usize],
            ..Needs::default()
        },
        from: random.below(5) as u32,
        effort: [Effort::None, Effort::Later, Effort::Now][random.below(3) as usize],
        demotes: random.chance(50),
    }
}

/// The pages in which everything happens.
const PAGES: u64 = 96;

fn range(random: &mut Random) -> Pages {
    let start = random.below(PAGES);
    Pages {
        start,
        end: start + 1 + random.below(PAGES - start),
    }
}

fn mapping(random: &mut Random, spaces: &mut AddressSpaces, space: SpaceId) -> Mapping {
    let pages = range(random);
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

/// Tells of a child that it has its parent's mappings.
fn tell(spaces: &mut AddressSpaces, parent: SpaceId, child: SpaceId) -> Vec<Change> {
    let mut changes = Vec::new();
    for page in 0..PAGES {
        let Some(mapping) = spaces.mapping_at(parent, page) else {
            continue;
        };
        let pages = Pages {
            start: page,
            end: page + 1,
        };
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

/// One run: so many operations on a small memory.
fn run(seed: u64, operations: u64) {
    let mut random = Random(seed);
    let policy = policy(&mut random);
    let frames = 24 + random.below(200);
    let orders: &[u8] =
        [&[0, 1, 2, 3][..], &[0, 3], &[0, 2, 4], &[0, 1, 5]][random.below(4) as usize];
    let start = if random.chance(50) {
        Start::Empty
    } else {
        Start::Seeded {
            occupied: 0.3,
            movable: 0.5,
            seed,
            run: (0, 2),
        }
    };
    let base = PageSize::from_shift(12 + (random.chance(30)) as u8).expect("a size");
    let spec = Spec {
        base,
        sizes: Sizes::new(orders).expect("sizes"),
        start: start.lay_out(frames, 6).expect("a layout"),
        swap: random.below(3) * 60,
        files: [Files::OnDisk, Files::InMemory][random.below(2) as usize],
        costs: Costs::default(),
    };
    let mut system = System::new(&policy, &spec, None);
    let mut spaces = AddressSpaces::new(BTreeSet::from([SpaceId(0), SpaceId(1), SpaceId(2)]));
    spaces.file(FileId(0), PAGES << 12);
    spaces.file(FileId(1), 40 << 12);
    let mut children = 0;
    let mut time = 0;
    for _ in 0..operations {
        let space = SpaceId(random.below(3) as u32);
        let mut changes = Vec::new();
        let what = random.below(100);
        if (5..=9).contains(&what) || what == 12 {
            system.visited(space);
        }
        match what {
            0..=4 => {
                let mapping = mapping(&mut random, &mut spaces, space);
                changes = spaces.map(space, mapping);
            }
            5..=6 => changes = spaces.unmap(space, range(&mut random)),
            7 if random.chance(30) => changes = spaces.remove(space, range(&mut random)),
            7 => changes = spaces.discard(space, range(&mut random)),
            8 => {
                let rights = Rights {
                    write: random.chance(50),
                    ..Rights::READ_WRITE
                };
                changes = spaces.protect(space, range(&mut random), rights);
            }
            9 => {
                let from = range(&mut random);
                let at = random.below(PAGES);
                let to = Pages {
                    start: at,
                    end: at + from.len(),
                };
                changes = spaces.remap(space, from, to);
            }
            10 => {
                // Numbers of processes are used again.
                children = (children + 1) % 4;
                for change in spaces.fork(space, children) {
                    system.apply(&change);
                }
                system.fork(&spaces, space, children);
                if random.chance(70) {
                    let child = SpaceId((space.0 + 1) % 3);
                    for change in spaces.end(child) {
                        system.apply(&change);
                    }
                    system.check();
                    spaces.begin(child, children);
                    system.begin(child, children);
                    if random.chance(70) {
                        system.check();
                        changes = tell(&mut spaces, space, child);
                    }
                }
            }
            11 if random.chance(10) => changes = spaces.end(space),
            12 => system.freed(&spaces, space, range(&mut random)),
            _ => {
                let page = random.below(PAGES);
                let page = system.base_page(PageNumber(page));
                let at = Place { space, page };
                let store = random.chance(40);
                time += 1;
                system.pass(&spaces, time);
                system.visited(space);
                if system.look(at, store).is_some() {
                    continue;
                }
                match system.reference(&spaces, at, store) {
                    Ok(level) => assert!(level < orders.len()),
                    Err(OutOfMemory) => {
                        let done = spaces.end(space);
                        done.iter().for_each(|change| system.apply(change));
                    }
                }
            }
        }
        for change in &changes {
            system.apply(change);
        }
        system.shootdowns().for_each(drop);
        system.check();
        spaces.check();
    }
    let _sample = system.sample();
    let totals = system.totals();
    assert!(
        totals.common.extra_zeroed_pages
            <= system.counters().resident + system.counters().zeroed_and_gone
    );
}

/// How many operations all runs have together, unless the environment says otherwise.
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
