//! Placement by colour, compared with lists of pages and with a scan of all frames.

use crate::common::*;
use broadleaf_memory::Backing;
use broadleaf_memory::frames::{Buddy, Frame};
use broadleaf_memory::system::Place;
use broadleaf_oracle::{SlowOrder, colours_of_pages, lowest_of_colour};
use broadleaf_policy::{ColourOrder, ColourOwner};
use broadleaf_units::{CoreId, PageSize, SpaceId};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::ops::Range;

/// The colours of the cache that the policies describe by default.
const COLOURS: u64 = 64;

/// Spaces with memory of a gigabyte each.
fn world<'a>(policy: &'a dyn broadleaf_policy::Policy, frames: u64) -> TestMemory<'a> {
    let mut world = TestMemory::new(policy, &spec(&[0], frames));
    for space in (0..3).map(SpaceId) {
        world.map(space, Backing::Anonymous, 0..1 << 18);
    }
    world
}

/// The frame of a resident page.
fn frame(world: &TestMemory<'_>, space: SpaceId, page: u64) -> Option<u64> {
    let mut frames = world.system.frames_of_pages();
    frames.find_map(|(at, frame)| (at == Place { space, page }).then_some(frame))
}

/// The colours of the shares of a rule.
fn shares_of(name: &str) -> Vec<Range<u64>> {
    let rule = policy(name).needs().colours.expect("colours");
    let divided = rule.shares.divide(PageSize::SIZE_2M, rule.way);
    let (regions, shares) = divided.expect("shares");
    let each = COLOURS / regions.count();
    let shares = shares.iter();
    shares
        .map(|share| share.entry() * each..(share.entry() + share.count()) * each)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn pages_get_the_colours_of_the_list(
        touched in proptest::collection::vec((0_u32..3, 0_u64..2048), 1..80),
        order in 0_usize..3,
        owner in 0_usize..2,
        shares in prop::sample::select(vec!["1", "1/4+1/2+1/8+1/8", "1/8", "1/2+1/4"]),
    ) {
        let (order, slow) = [
            ("page", SlowOrder::ByPage),
            ("round-robin", SlowOrder::RoundRobin),
            ("bin-hopping", SlowOrder::BinHopping),
        ][order];
        let by = ["process", "region"][owner];
        let name = format!("coloured(shares={shares},by={by},order={order})");
        let policy = policy(&name);
        let mut world = world(policy.as_ref(), 1 << 14);
        let mut placed = BTreeSet::new();
        let mut list = Vec::new();
        for (space, page) in touched {
            world.touch(SpaceId(space), [page], false);
            if placed.insert((space, page)) {
                let owner = u64::from(space) + u64::from(by == "region") * (page / 512 * 3);
                list.push(((owner, page), frame(&world, SpaceId(space), page)));
            }
        }
        let pages: Vec<(u64, u64)> = list.iter().map(|(page, _)| *page).collect();
        let wanted = colours_of_pages(&pages, slow, &shares_of(&name));
        let colours = list.iter().map(|(_, frame)| frame.map(|frame| frame % COLOURS));
        prop_assert!(colours.eq(wanted.into_iter().map(Some)), "{}", name);
        prop_assert_eq!(world.counters().other_colours, 0);
        prop_assert_eq!(world.counters().foreign_colours, 0);
    }

    #[test]
    fn the_lowest_free_frame_of_a_colour_is_found(
        frames in 1_usize..300,
        colours in 1_usize..20,
        steps in proptest::collection::vec((0..4, 0_u64..300, 0_u8..5), 1..120),
    ) {
        let mut buddy = Buddy::new(frames as u64, 4);
        buddy.divide_colours(colours as u64);
        let mut free = vec![true; frames];
        for (kind, number, order) in steps {
            let first = number >> order << order;
            let extent = first as usize..(first as usize + (1 << order));
            match kind {
                0 | 1 => {
                    let colour = number as usize % colours;
                    let expected = lowest_of_colour(&free, colour, colours);
                    let given = buddy.allocate_colour(number);
                    let given = given.map(|given| given.first.0 as usize);
                    prop_assert_eq!(given, expected);
                    given.into_iter().for_each(|frame| free[frame] = false);
                }
                2 => {
                    if buddy.take(Frame(first), order) {
                        free[extent].fill(false);
                    }
                }
                _ => {
                    let used = extent.end <= frames && !free[extent.clone()].contains(&true);
                    prop_assert_eq!(buddy.free(Frame(first), order).is_ok(), used);
                    if used {
                        free[extent].fill(true);
                    }
                }
            }
            buddy.check();
        }
    }
}

#[test]
fn owners_of_disjoint_shares_have_no_colour_in_common() {
    let policy = policy("coloured(shares=1/4+1/2+1/8)");
    let mut world = world(policy.as_ref(), 1 << 13);
    for space in (0..3).map(SpaceId) {
        world.touch(space, 0..200, true);
    }
    let colours = |of: u32| -> BTreeSet<u64> {
        let frames = world.system.frames_of_pages();
        let own = frames.filter(|(at, _)| at.space == SpaceId(of));
        own.map(|(_, frame)| frame % COLOURS).collect()
    };
    let sizes = [16, 32, 8];
    for (space, size) in (0..3).zip(sizes) {
        assert_eq!(colours(space).len(), size);
        assert!((0..space).all(|other| colours(other).is_disjoint(&colours(space))));
    }
    // The baseline takes the lowest frames: its owners share the colours.
    let plain = crate::common::policy("fixed-4k");
    let mut world = self::world(plain.as_ref(), 1 << 13);
    world.touch(SPACE, 0..200, true);
    let frames = world.system.frames_of_pages();
    let all: BTreeSet<u64> = frames.map(|(_, frame)| frame % COLOURS).collect();
    assert_eq!(all.len() as u64, COLOURS);
}

/// 1024 frames have 16 of each of 64 colours. A share of an eighth has 128 frames.
#[test]
fn a_share_that_is_used_up_takes_other_frames_and_counts_them() {
    let policy = policy("coloured(shares=1/8)");
    let mut world = world(policy.as_ref(), 1024);
    let mut wanted = (0_u64..).step_by(8);
    let mut touch = |world: &mut TestMemory<'_>, pages: usize| {
        let pages: Vec<u64> = wanted.by_ref().take(pages).collect();
        world.touch(SPACE, pages, true);
    };
    // One colour alone: page tables lie at low frames, so one or two of its frames are theirs.
    touch(&mut world, 14);
    assert_eq!(world.counters().other_colours, 0);
    touch(&mut world, 86);
    let others = world.counters().other_colours;
    assert!((84..=86).contains(&others), "{others}");
    assert_eq!(world.counters().foreign_colours, 0);
    touch(&mut world, 100);
    let foreign = world.counters().foreign_colours;
    assert!((72..=90).contains(&foreign), "{foreign}");
    // Frames that become free are found again.
    world.unmap(SPACE, 0..1 << 18);
    world.map(SPACE, Backing::Anonymous, 0..1 << 18);
    let before = *world.counters();
    world.touch(SPACE, 0..64, true);
    assert_eq!(world.counters().other_colours, before.other_colours);
    assert_eq!(world.counters().foreign_colours, before.foreign_colours);
}

#[test]
fn cores_own_colours_where_the_trace_names_them() {
    let policy = policy("coloured(shares=1/2+1/2,by=core)");
    assert_eq!(
        policy.needs().colours.map(|rule| rule.owner),
        Some(ColourOwner::Core)
    );
    assert_eq!(
        policy.needs().colours.map(|rule| rule.order),
        Some(ColourOrder::ByPage)
    );
    let mut world = world(policy.as_ref(), 1 << 12);
    for (core, pages) in [(3, 0..40), (9, 40..80), (3, 80..120)] {
        world.system.run_on(Some(CoreId(core)));
        world.touch(SPACE, pages, false);
    }
    let halves = world.system.frames_of_pages().map(|(at, frame)| {
        let half = frame % COLOURS / (COLOURS / 2);
        (at.page, half)
    });
    for (page, half) in halves {
        assert_eq!(half, u64::from((40..80).contains(&page)), "page {page}");
    }
}
