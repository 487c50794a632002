//! Page-size assignment (Talluri 1995, section 6.2): by kind of memory, and by the working set. The
//! page sizes are compared with those of a slow rule over lists of pages.

use crate::common::*;
use broadleaf_memory::Backing;
use broadleaf_memory::system::{Place, Spec};
use broadleaf_units::{FileId, SplitMix64};
use std::collections::BTreeSet;

/// The base pages of the two superpage sizes: 64 KiB and 2 MiB.
const SMALL: u64 = 16;
const LARGE: u64 = 512;

fn two_sizes(frames: u64) -> Spec {
    spec(&[0, 4, 9], frames)
}

#[test]
fn the_kind_of_memory_fixes_the_size_at_the_first_reference() {
    // The levels of a page of anonymous memory and of a page of a file.
    for (name, heap, file_level) in [
        ("static", 1, 2),
        ("static(heap=all,files=64k)", 2, 1),
        ("static(files=none)", 1, 0),
        ("static(heap=none)", 0, 2),
    ] {
        let policy = policy(name);
        let mut world = TestMemory::new(policy.as_ref(), &two_sizes(4096));
        world.spaces.file(FileId(0), 1 << 30);
        world.map(SPACE, Backing::Anonymous, 0..LARGE);
        world.map(SPACE, FILE, LARGE..2 * LARGE);
        world.touch(SPACE, [3, LARGE + 3], false);
        assert_eq!(world.level(SPACE, 3, false), Some(heap), "{name}");
        let file = world.level(SPACE, LARGE + 3, false);
        assert_eq!(file, Some(file_level), "{name}");
        assert_eq!(world.counters().copied, 0, "{name}");
    }
}

#[test]
fn a_size_without_a_free_extent_gives_way_to_the_next_smaller_one() {
    let policy = policy("static(heap=all)");
    let mut world = TestMemory::new(policy.as_ref(), &two_sizes(LARGE));
    world.map(SPACE, Backing::Anonymous, 0..LARGE);
    // A page table takes a frame, so no extent of 2 MiB is free.
    world.map(OTHER, Backing::Anonymous, 0..1);
    world.touch(OTHER, 0..1, true);
    world.touch(SPACE, 0..1, true);
    assert_eq!(world.level(SPACE, 0, true), Some(1));
}

/// Random references in several periods, against sets of the pages that each period referenced.
#[test]
fn blocks_of_which_half_was_referenced_in_a_period_are_promoted() {
    let (mut promoted, mut stayed) = (0, 0);
    for (name, share) in [("working-set", 8), ("working-set(promote=75)", 12)] {
        let name = match name.strip_suffix(')') {
            Some(start) => format!("{start},scan_period=1000)"),
            None => format!("{name}(scan_period=1000)"),
        };
        let policy = policy(&name);
        for seed in 0..30 {
            let mut rng = SplitMix64::new(seed);
            let mut world = TestMemory::new(policy.as_ref(), &spec(&[0, 4], 1024));
            world.map(SPACE, Backing::Anonymous, 0..8 * SMALL);
            let mut superpages: BTreeSet<u64> = BTreeSet::new();
            for period in 1..=6 {
                let mut referenced: BTreeSet<u64> = BTreeSet::new();
                for _ in 0..50 {
                    let page = rng.below(8) * SMALL + rng.below(SMALL);
                    world.touch(SPACE, [page], true);
                    referenced.insert(page);
                }
                world.pass(period * 1000);
                for block in 0..8 {
                    let of_block = block * SMALL..(block + 1) * SMALL;
                    let count = referenced.range(of_block.clone()).count();
                    if count >= share {
                        superpages.insert(block);
                    }
                    // A lookup that marks no page as referenced.
                    let first = Place {
                        space: SPACE,
                        page: of_block.start,
                    };
                    let is_superpage = world.system.level_at(first) == 1;
                    let expected = superpages.contains(&block);
                    assert_eq!(is_superpage, expected, "{name}, seed {seed}, block {block}");
                    promoted += u64::from(expected);
                    stayed += u64::from(!expected);
                }
            }
        }
    }
    assert!(promoted > 100 && stayed > 100, "{promoted}, {stayed}");
}
