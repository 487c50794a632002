//! Steps that reference memory.

use std::ops::Range;

use broadleaf_trace::{Lead, Visit};

use super::Rng;
use super::ranges::{ARENA, ARENA_PAGES, WIDE};
use super::writer::Writer;

/// The numbers of pages of a fill: below, at and above each threshold.
const FILLS: [u64; 24] = [
    1, 3, 63, 64, 65, 127, 128, 129, 255, 256, 257, 460, 461, 462, 508, 509, 510, 511, 512, 512,
    512, 512, 512, 512,
];

/// A few loads and stores to `page`.
fn few(rng: &mut Rng, page: u64) -> Visit {
    let loads = rng.below(4) as u32;
    let stores = if loads == 0 {
        1 + rng.below(2) as u32
    } else {
        rng.pick(&[0, 0, 1, 2])
    };
    let before = if stores == 0 {
        loads
    } else {
        rng.below(u64::from(loads) + 1) as u32
    };
    Visit {
        unit: page,
        loads,
        stores,
        loads_before_store: before,
        ..Visit::default()
    }
}

fn load(page: u64) -> Visit {
    Visit {
        unit: page,
        loads: 1,
        loads_before_store: 1,
        ..Visit::default()
    }
}

fn store(page: u64) -> Visit {
    Visit {
        unit: page,
        stores: 1,
        ..Visit::default()
    }
}

impl Writer {
    pub(super) fn fill(&mut self, rng: &mut Rng) {
        let place = rng.below(8);
        let within = self.space().place(place);
        let first_block =
            within.start / 512 * 512 + 512 * rng.below((within.end - within.start).div_ceil(512));
        self.fill_block(rng, first_block);
    }

    /// References the pages of the block that begins with `first_page`, often all of them.
    pub(super) fn fill_block(&mut self, rng: &mut Rng, first_page: u64) {
        let (start, step) = rng.pick(&[(0, 1), (0, 1), (511, 511), (5, 5), (256, 1), (0, 77)]);
        let mode = rng.below(6);
        let count = rng.pick(&FILLS);
        for i in 0..count {
            let page = first_page + (start + i * step) % 512;
            let visit = match mode {
                0 | 1 => load(page),
                2 | 3 => store(page),
                4 if i + rng.below(4) < count => load(page),
                4 => store(page),
                _ => few(rng, page),
            };
            self.visit(rng, visit);
        }
    }

    /// References a few random pages of `pages`.
    pub(super) fn touch_some(&mut self, rng: &mut Rng, pages: &Range<u64>) {
        for _ in 0..1 + rng.below(5) {
            let page = pages.start + rng.below(pages.end - pages.start);
            let visit = few(rng, page);
            self.visit(rng, visit);
        }
    }

    pub(super) fn wander(&mut self, rng: &mut Rng) {
        for _ in 0..rng.below(60) {
            let place = rng.below(6);
            let within = self.space().place(place);
            let page = within.start + rng.below(within.end - within.start);
            let mut visit = few(rng, page);
            if rng.one_in(8) {
                visit.loads += 37;
                visit.loads_before_store += 37;
            }
            self.visit(rng, visit);
        }
    }

    /// References pages with strides that stay within a set of some structure.
    pub(super) fn chase(&mut self, rng: &mut Rng) {
        let (stride, wide) = rng.pick(&[
            (16, false),
            (129, false),
            (512, false),
            (1 << 14, true),
            (1 << 14, true),
            (512, true),
            (1024, true),
            (16 * 512, true),
            (128 * 512, true),
            (128 * 512, true),
        ]);
        let (base, size) = if wide {
            (WIDE, u64::MAX)
        } else {
            (ARENA, ARENA_PAGES)
        };
        let count = rng.pick(&[3, 4, 5, 5, 9, 12, 13, 14]);
        let offset = rng.pick(&[0, 0, 1, 511]);
        for round in 0..2 + rng.below(2) {
            for i in 0..count {
                let page = base + (offset + i * stride) % size;
                let visit = if round == 0 && i % 3 == 0 {
                    store(page)
                } else {
                    load(page)
                };
                self.visit(rng, visit);
            }
        }
    }

    pub(super) fn straddle(&mut self, rng: &mut Rng) {
        for _ in 0..1 + rng.below(4) {
            let place = rng.below(6);
            let within = self.space().place(place);
            let boundary = if rng.one_in(2) {
                511
            } else {
                rng.below(within.end - within.start)
            };
            let page = within.start + boundary;
            let stores = rng.one_in(2);
            let (lower, lead) = if stores {
                (store(page), Lead::Store)
            } else {
                (load(page), Lead::Load)
            };
            let mut upper = if rng.one_in(2) {
                Visit::default()
            } else {
                few(rng, 0)
            };
            upper.lead = lead;
            self.straddling(rng, lower, upper);
        }
    }

    pub(super) fn wait(&mut self, rng: &mut Rng) {
        let within = self.space().place(rng.below(6));
        let page = within.start + rng.below(within.end - within.start);
        let count = rng.pick(&[
            100,
            999_000,
            1_000_000,
            10_000_000,
            99_999_000,
            1_000_000_000,
            4_200_000_000,
        ]);
        let count = (count - 50 + rng.below(100)) as u32;
        let stores = rng.pick(&[0, 0, 1, count / 3]);
        let loads = count - stores;
        let loads_before_store = if stores == 0 {
            loads
        } else {
            rng.below(u64::from(loads) + 1) as u32
        };
        self.visit(
            rng,
            Visit {
                unit: page,
                loads,
                stores,
                loads_before_store,
                ..Visit::default()
            },
        );
    }
}
