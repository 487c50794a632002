//! `check()` after each of many random verbs.

use super::*;

/// A small generator of numbers that repeat with the seed (Marsaglia 2003, xorshift).
struct RandomNumbers(u64);

impl RandomNumbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    fn range(&mut self, limit: u64) -> Pages {
        // Whole blocks often, anything else as often.
        if self.below(2) == 0 {
            return pages(
                self.below(limit / BLOCK) * BLOCK,
                (1 + self.below(2)) * BLOCK,
            );
        }
        pages(self.below(limit), 1 + self.below(700))
    }
}

#[test]
fn any_order_of_verbs_keeps_the_facts_in_agreement() {
    for seed in 1..=30 {
        let mut numbers = RandomNumbers(seed << 32 | 0x9e37_79b9);
        let mut world = VerbMemory::new(4);
        let limit = 6 * BLOCK;
        for _ in 0..600 {
            let range = numbers.range(limit);
            let to = numbers.range(limit);
            let changes = match numbers.below(24) {
                0 => world.spaces.map(SPACE, anonymous(range.start, range.len())),
                1 => world.spaces.unmap(SPACE, range),
                2 => world.spaces.protect(
                    SPACE,
                    range,
                    Rights {
                        write: numbers.below(2) == 0,
                        ..Rights::READ_WRITE
                    },
                ),
                3 => world.spaces.remap(SPACE, range, to),
                4 => world
                    .spaces
                    .remap(SPACE, range, pages(to.start, range.len())),
                5 => world.spaces.discard(SPACE, range),
                6 => world.spaces.set_heap(SPACE, pages(2 * BLOCK, range.len())),
                7 if numbers.below(40) == 0 => world.spaces.end(SPACE),
                8..=11 => {
                    world.promote(range.start);
                    Vec::new()
                }
                12 => {
                    let block = world.block(range.start);
                    let place = world.spaces.place(block);
                    let broken = world.memory.demote(block, place) != Shootdown::Nothing;
                    assert!(!broken || world.state(block).populated() == 512);
                    Vec::new()
                }
                _ => {
                    world.touch(range.start, numbers.below(2) == 0);
                    Vec::new()
                }
            };
            world.apply(&changes);
        }
        let counters = world.memory.counters();
        assert!(
            counters.promotions > 0 && counters.demotions > 0 && counters.page_faults > 0,
            "seed {seed}"
        );
    }
}
