//! Scattered superpages, compared with lists of frames: their places, and what happens to them.

use crate::common::*;
use broadleaf_memory::frames::{Buddy, Frame};
use broadleaf_memory::system::{Place, System};
use broadleaf_memory::{Backing, Notice};
use broadleaf_oracle::{first_place, scattered_frames};
use broadleaf_policy::Policy;
use broadleaf_units::{ColourRegions, PageNumber, PageSize, RegionShare, Scattering, SpaceId};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const BLOCK: u64 = 512;

/// Both readings of eight regions.
fn regions(low_bit: u8) -> ColourRegions {
    ColourRegions::new(PageSize::SIZE_2M, 8, low_bit).expect("eight regions")
}

/// The frames of a scattered superpage by the oracle.
fn listed(base: u64, of: Scattering) -> Vec<u64> {
    scattered_frames(base, bits(of), range(of))
}

fn bits(of: Scattering) -> (u32, u64) {
    (u32::from(of.regions.bits().0), of.regions.count())
}

fn range(of: Scattering) -> std::ops::Range<u64> {
    of.share.entry()..of.share.entry() + of.share.count()
}

/// Spaces with memory of 64 blocks each.
fn world(policy: &dyn Policy, frames: u64) -> TestMemory<'_> {
    let mut world = TestMemory::new(policy, &spec(&[0, 9], frames));
    for space in (0..3).map(SpaceId) {
        world.map(space, Backing::Anonymous, 0..64 * BLOCK);
    }
    world
}

/// The frames of a block's pages, in order.
fn frames_of(system: &System<'_>, space: SpaceId, block: u64) -> Vec<u64> {
    let pages = block * BLOCK..(block + 1) * BLOCK;
    let own = system.frames_of_pages();
    let own = own.filter(|(at, _)| at.space == space && pages.contains(&at.page));
    own.map(|(_, frame)| frame).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_lowest_place_is_found(
        low_bit in prop::sample::select(vec![12_u8, 15, 18]),
        superpages in 1_u64..12,
        steps in prop::collection::vec((0..4, 1_u8..16, 0_u64..1024, 0_u8..10), 1..40),
    ) {
        let regions = regions(low_bit);
        let mut buddy = Buddy::new(superpages * BLOCK + 100, 10);
        let mut free: BTreeSet<u64> = (0..superpages * BLOCK + 100).collect();
        let mut made: Vec<Vec<u64>> = Vec::new();
        for (kind, node, number, order) in steps {
            match kind {
                0 | 1 => {
                    let share = RegionShare::of_node(node, regions).expect("a share");
                    let of = Scattering { regions, share };
                    let is_free = |frame| free.contains(&frame);
                    let place = first_place(is_free, superpages, bits(of), range(of));
                    let given = buddy.allocate_scattered(of);
                    let expected = place.map(|base| listed(base, of));
                    let first = expected.as_ref().map(|frames| Frame(frames[0]));
                    prop_assert_eq!(given.map(|given| given.first), first);
                    if let Some(frames) = expected {
                        frames.iter().for_each(|frame| { free.remove(frame); });
                        made.push(frames);
                    }
                }
                2 if !made.is_empty() => {
                    // Pages go one by one, in any order.
                    let frames = made.swap_remove(number as usize % made.len());
                    for at in 0..BLOCK {
                        let frame = frames[((at * 211 + number) % BLOCK) as usize];
                        buddy.free(Frame(frame), 0).expect("it was allocated");
                        free.insert(frame);
                    }
                }
                _ => {
                    let first = (number * superpages) >> order << order;
                    if buddy.take(Frame(first), order) {
                        let taken: Vec<u64> = (first..first + (1 << order)).collect();
                        taken.iter().for_each(|frame| { free.remove(frame); });
                    }
                }
            }
            buddy.check();
            prop_assert_eq!(buddy.free_frames(), free.len() as u64);
        }
    }

    #[test]
    fn verbs_leave_the_frames_and_the_leaves_of_the_list(
        way in prop::sample::select(vec!["256k", "2m"]),
        steps in prop::collection::vec((0..8, 0_u32..3, 0_u64..6, 0_u64..BLOCK), 1..30),
    ) {
        let policy = policy(&format!("scattered(way={way},shares=1/2+1/8+1/4+1)"));
        let mut world = world(policy.as_ref(), 24 * BLOCK);
        world.system.keep_notices();
        let mut leaves = BTreeMap::new();
        for (kind, space, block, page) in steps {
            let (space, first) = (SpaceId(space), block * BLOCK);
            match kind {
                0..=3 => drop(world.reference(space, first + page, kind == 0)),
                4 => world.unmap(space, first + page..first + page + 1),
                5 => world.unmap(space, first..first + 2 * BLOCK),
                6 => {
                    let to = (block + 20) * BLOCK;
                    world.remap(space, first..first + BLOCK, to..to + BLOCK);
                }
                _ => world.end(space),
            }
            if kind >= 4 {
                world.map(space, Backing::Anonymous, 0..64 * BLOCK);
            }
            // A page table holds from the notices the pages that memory has.
            for notice in world.system.notices(&world.spaces) {
                match notice {
                    Notice::Mapped(space, leaf) => drop(leaves.insert((space, leaf.run), leaf)),
                    Notice::Unmapped(space, leaf) => {
                        prop_assert!(leaves.remove(&(space, leaf.run)).is_some());
                    }
                    Notice::Protected(..) => {}
                }
            }
            let from_leaves = leaves.iter().flat_map(|((space, run), leaf)| {
                let (from, to) = run.bounds();
                (from..to).map(|page| {
                    let at = Place { space: *space, page };
                    (at, leaf.frame_of(PageNumber(page)))
                })
            });
            let from_leaves: BTreeMap<_, _> = from_leaves.collect();
            let mapped = world.system.frames_of_pages().map(|(at, frame)| (at, Some(frame)));
            prop_assert_eq!(mapped.collect::<BTreeMap<_, _>>(), from_leaves);
        }
    }
}

#[test]
fn owners_have_their_shares_of_consecutive_superpages() {
    for (way, low_bit) in [("256k", 15), ("2m", 18)] {
        let policy = policy(&format!("scattered(way={way},shares=1/2+1/4+1/8)"));
        let mut world = world(policy.as_ref(), 32 * BLOCK);
        for (space, (entry, count)) in [(0, (0, 4)), (1, (4, 2)), (2, (6, 1))] {
            let space = SpaceId(space);
            world.touch(space, [7], true);
            let regions = regions(low_bit);
            let share = RegionShare::new(entry, count, regions).expect("a share");
            let scattering = Scattering { regions, share };
            // Page tables took frames of the first superpage, so no share begins there.
            let frames = frames_of(&world.system, space, 0);
            let base = frames[0] / BLOCK;
            assert_eq!(frames, listed(base, scattering), "{way} {space:?}");
            let leaf = world
                .system
                .leaf(Place { space, page: 300 })
                .expect("a leaf");
            assert_eq!(leaf.scattering, scattering.pack());
            assert_eq!(leaf.frame, Some(frames[0]));
            assert_eq!(world.level(space, 300, false), None, "not referenced yet");
        }
        let counters = world.counters();
        assert_eq!((counters.scattered_superpages, counters.promotions), (3, 3));
        assert_eq!(counters.extents_refused, 0);
        // Two halves, four quarters and eight eighths of 512 frames lie in eight superpages or so.
        let totals = world.system.totals(&world.spaces);
        let used: BTreeSet<u64> = (0..3)
            .flat_map(|space| frames_of(&world.system, SpaceId(space), 0))
            .map(|frame| frame / BLOCK)
            .collect();
        let of_tables = world.system.sample().wired;
        let beside = used.len() as u64 * BLOCK - 3 * BLOCK;
        assert!((beside - of_tables..=beside).contains(&totals.beside_scattered));
    }
}

#[test]
fn a_whole_share_is_an_ordinary_superpage() {
    let scattered = policy("scattered(shares=1)");
    let ordinary = policy("fixed-2m");
    let mut frames = Vec::new();
    for policy in [&scattered, &ordinary] {
        let mut world = world(policy.as_ref(), 8 * BLOCK);
        world.touch(SPACE, [0, BLOCK, 5 * BLOCK], false);
        let at = Place {
            space: SPACE,
            page: 9,
        };
        assert_eq!(world.system.leaf(at).and_then(|leaf| leaf.scattering), None);
        assert_eq!(world.counters().scattered_superpages, 0);
        frames.push(world.system.frames_of_pages().collect::<Vec<_>>());
    }
    assert_eq!(frames[0], frames[1]);
}

#[test]
fn a_broken_scattered_superpage_keeps_its_frames() {
    let policy = policy("scattered(shares=1/4)");
    let mut world = world(policy.as_ref(), 16 * BLOCK);
    world.touch(SPACE, 0..BLOCK, true);
    let frames = frames_of(&world.system, SPACE, 0);
    let free = world.free();
    world.unmap(SPACE, 100..101);
    let mut kept = frames.clone();
    kept.remove(100);
    assert_eq!(frames_of(&world.system, SPACE, 0), kept);
    assert_eq!(world.level(SPACE, 99, true), Some(0));
    assert_eq!(world.counters().demotions, 1);
    let leaf = world.system.leaf(Place {
        space: SPACE,
        page: 99,
    });
    assert_eq!(leaf.and_then(|leaf| leaf.scattering), None);
    assert_eq!(world.free(), free + 1);
    world.unmap(SPACE, 0..BLOCK);
    assert_eq!(world.free(), free + BLOCK);
    assert_eq!(world.system.totals(&world.spaces).beside_scattered, 0);
}

/// A store of a child breaks the superpage that it shares with its parent.
#[test]
fn processes_share_a_scattered_superpage_until_one_stores() {
    let policy = policy("scattered(shares=1/2)");
    let mut world = world(policy.as_ref(), 16 * BLOCK);
    world.touch(PARENT, [0], true);
    world.unmap(CHILD, 0..64 * BLOCK);
    world.fork(PARENT, CHILD);
    let frames = frames_of(&world.system, PARENT, 0);
    assert_eq!(frames_of(&world.system, CHILD, 0), frames);
    world.map(CHILD, Backing::Anonymous, 0..64 * BLOCK);
    world.touch(CHILD, [3], true);
    let after = frames_of(&world.system, CHILD, 0);
    let differ = frames
        .iter()
        .zip(&after)
        .filter(|(one, other)| one != other);
    assert_eq!(differ.count(), 1);
    assert_eq!(frames_of(&world.system, PARENT, 0), frames);
    world.end(PARENT);
    assert_eq!(frames_of(&world.system, CHILD, 0), after);
    world.end(CHILD);
}

#[test]
fn without_a_place_a_block_stays_in_pages_of_its_colours() {
    // Seven superpages have no eight consecutive ones.
    let policy = policy("scattered(shares=1/8)");
    let mut world = world(policy.as_ref(), 7 * BLOCK + 100);
    world.touch(SPACE, 0..40, true);
    let counters = world.counters();
    assert_eq!(counters.scattered_superpages, 0);
    assert_eq!(counters.extents_refused, 1);
    assert_eq!((counters.other_colours, counters.foreign_colours), (0, 0));
    let frames = frames_of(&world.system, SPACE, 0);
    assert!(
        frames.iter().all(|frame| frame % 64 < 8),
        "an eighth of the colours"
    );
}
