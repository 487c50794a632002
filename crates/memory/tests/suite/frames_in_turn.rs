//! Page reservation (Talluri 1995, section 6.6): when no frame is free, the oldest reservation
//! gives up one frame at a time. The memory is compared with the lists of the thesis.

use crate::common::*;
use broadleaf_memory::Backing;
use broadleaf_memory::system::Spec;
use broadleaf_units::SplitMix64;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The pages of a block.
const BLOCK: u64 = 16;
/// The frames of memory. The page daemon works below four available frames.
const FRAMES: u64 = 64;

fn small_spec() -> Spec {
    Spec {
        swap: 0,
        ..spec(&[0, 4], FRAMES)
    }
}

/// The lists of the thesis: free frames, and reserved frames with the pages that they are kept for,
/// oldest first.
#[derive(Default)]
struct TwoLists {
    free: BTreeSet<u64>,
    reserved: VecDeque<(u64, u64)>,
    seen: BTreeSet<u64>,
    busy: BTreeMap<u64, u64>,
}

impl TwoLists {
    /// The lists after a page fault, whose page got a frame. Asserts that the frame is one that the
    /// thesis names.
    fn fault(&mut self, page: u64, frame: u64) {
        let block = page / BLOCK;
        let own = self.reserved.iter().position(|(_, of)| *of == page);
        let is_first = self.seen.insert(block);
        let run = |first: u64| first..first + BLOCK;
        let has_block = |first: &u64| run(*first).all(|frame| self.free.contains(&frame));
        let mut blocks = (0..FRAMES).step_by(BLOCK as usize);
        if let Some(at) = own {
            assert_eq!(
                self.reserved.remove(at),
                Some((frame, page)),
                "its own frame"
            );
        } else if is_first && blocks.any(|first| has_block(&first)) {
            let first = frame / BLOCK * BLOCK;
            assert!(has_block(&first), "a free block");
            assert_eq!(frame % BLOCK, page % BLOCK, "its place in the block");
            for frame in run(first) {
                self.free.remove(&frame);
                let of = block * BLOCK + frame - first;
                if of != page {
                    self.reserved.push_back((frame, of));
                }
            }
        } else if self.free.is_empty() {
            let head = self.reserved.pop_front();
            assert_eq!(
                head.map(|(frame, _)| frame),
                Some(frame),
                "the oldest frame"
            );
        } else {
            assert!(self.free.remove(&frame), "a free frame");
        }
        self.busy.insert(page, frame);
    }
}

#[test]
fn frames_of_the_oldest_reservation_are_taken_one_at_a_time() {
    let policy = policy("reserve-64k");
    let (mut lapsed, mut kept) = (0, 0);
    for seed in 0..60 {
        let mut rng = SplitMix64::new(seed);
        let mut world = TestMemory::new(policy.as_ref(), &small_spec());
        world.map(SPACE, Backing::Anonymous, 0..512);
        let mut lists = TwoLists {
            free: (0..FRAMES).collect(),
            ..TwoLists::default()
        };
        // The first reservation takes the lowest block, and the page table the frame after it. Four
        // frames stay available.
        while (lists.busy.len() as u64) < FRAMES - 6 {
            let blocks = 1 + rng.below(12);
            let page = rng.below(blocks) * BLOCK + rng.below(BLOCK);
            if lists.busy.contains_key(&page) {
                continue;
            }
            world.touch(SPACE, page..page + 1, true);
            let frames: BTreeMap<u64, u64> = world
                .system
                .frames_of_pages()
                .map(|(at, frame)| (at.page, frame))
                .collect();
            let was_given_up = lists.free.is_empty();
            if lists.busy.is_empty() {
                lists.free.remove(&BLOCK);
            }
            lapsed += u64::from(was_given_up && !lists.reserved.iter().any(|(_, of)| *of == page));
            kept += u64::from(was_given_up && lists.reserved.iter().any(|(_, of)| *of == page));
            lists.fault(page, frames[&page]);
            assert_eq!(frames, lists.busy, "seed {seed}: no page moves");
        }
        assert!(world.counters().reservations_broken > 0, "seed {seed}");
    }
    assert!(
        lapsed > 100 && kept > 100,
        "{lapsed} taken, {kept} kept while memory was short"
    );
}
