//! Pages that leave when memory is short, and copies of shared superpages, compared with slow
//! models (Talluri 1995, sections 6.3.3 and 6.3.5).

use crate::common::*;
use broadleaf_memory::Backing;
use broadleaf_memory::system::{Place, Spec};
use broadleaf_oracle::VictimMemory;
use broadleaf_units::{FileId, SplitMix64};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// The pages of a block.
const BLOCK: u64 = 16;
const FRAMES: u64 = 128;

fn frames_of(world: &TestMemory<'_>) -> BTreeMap<u64, u64> {
    let pages = world.system.frames_of_pages();
    pages.map(|(at, frame)| (at.page, frame)).collect()
}

/// Replays references to pages of a file. Returns the pages that left, in order.
fn victims(pages: &[u64], completes: bool) -> Result<Vec<u64>, TestCaseError> {
    let victims = if completes { "complete" } else { "oldest" };
    // Without reservations, and with blocks that are never full, no frame is kept for a page.
    let policy = policy(&format!(
        "foxtrot(reserve=no,gather=yes,local=100,victims={victims})"
    ));
    let spec = Spec {
        swap: 0,
        ..spec(&[0, 4], FRAMES)
    };
    let mut world = TestMemory::new(policy.as_ref(), &spec);
    world.spaces.file(FileId(0), 1 << 30);
    world.map(SPACE, FILE, 0..512);
    // The page table takes the lowest frame that is free at the first fault.
    world.touch(SPACE, [pages[0]], false);
    let first = frames_of(&world)[&pages[0]];
    let wired = BTreeSet::from([u64::from(first == 0)]);
    let mut slow = VictimMemory::new(FRAMES, wired, BLOCK, completes);
    slow.refer(pages[0], first);
    for page in &pages[1..] {
        world.touch(SPACE, [*page], false);
        let frames = frames_of(&world);
        slow.refer(*page, frames[page]);
        prop_assert_eq!(slow.resident(), &frames, "{}: page {}", victims, page);
    }
    Ok(slow.left)
}

/// Pages of thirty blocks: the last page of each is never used.
fn references() -> impl Strategy<Value = Vec<u64>> {
    let page = (0_u64..30, 0..BLOCK - 1).prop_map(|(block, page)| block * BLOCK + page);
    prop::collection::vec(page, 1..400)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn the_pages_of_the_slow_lists_leave(pages in references()) {
        victims(&pages, false)?;
        victims(&pages, true)?;
    }

    /// Parent and child store to pages of blocks that they share. The first store to a block copies
    /// it whole, and nothing breaks.
    #[test]
    fn a_store_copies_a_shared_superpage_once(
        stores in prop::collection::vec((any::<bool>(), 0..4 * BLOCK), 0..40),
        whole in any::<bool>(),
    ) {
        let policy = policy(if whole { "foxtrot(store=superpage)" } else { "foxtrot" });
        let mut world = TestMemory::new(policy.as_ref(), &spec(&[0, 4], 512));
        world.map(PARENT, Backing::Anonymous, 0..4 * BLOCK);
        world.touch(PARENT, 0..4 * BLOCK, true);
        world.fork(PARENT, CHILD);
        world.map(CHILD, Backing::Anonymous, 0..4 * BLOCK);
        // The blocks or pages that are shared no more, and the superpages that broke.
        let (mut own, mut broken) = (BTreeSet::new(), BTreeSet::new());
        let mut copied = 0;
        for (by_child, page) in stores {
            let space = if by_child { CHILD } else { PARENT };
            world.touch(space, [page], true);
            let block = page / BLOCK;
            if own.insert(if whole { block } else { page }) {
                copied += if whole { BLOCK } else { 1 };
                if !whole {
                    broken.insert((space, block));
                }
            }
            let counted = (world.counters().copied, world.counters().demotions);
            prop_assert_eq!(counted, (copied, broken.len() as u64), "page {}", page);
        }
        for block in 0..4 {
            for space in [PARENT, CHILD] {
                let level = world.system.level_at(Place { space, page: block * BLOCK });
                prop_assert_eq!(level == 0, broken.contains(&(space, block)));
            }
        }
    }
}

#[test]
fn victims_that_complete_blocks_are_others_than_the_oldest() {
    let mut rng = SplitMix64::new(1);
    let page = |_| rng.below(30) * BLOCK + rng.below(BLOCK - 1);
    let pages: Vec<u64> = (0..400).map(page).collect();
    let left = |completes| victims(&pages, completes).expect("equal");
    let (oldest, complete) = (left(false), left(true));
    assert!(oldest.len() > 40 && complete.len() > 40);
    assert_ne!(oldest, complete);
}
