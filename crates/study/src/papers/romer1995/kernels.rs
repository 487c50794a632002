//! Programs that use all of their arrays: `compress`, two of `nasa7`, `fft` and `gcc`.

use broadleaf_trace::synth::SplitMix64;

use super::programs::{Addresses, KIB, PAGE, RomerProgram, at, pages};
use crate::papers::Scale;

/// A hash table of 69,001 codes, a table of their meanings, and buffers on both sides.
pub(super) const COMPRESS: RomerProgram = RomerProgram {
    name: "compress",
    accesses: 14,
    arrays: |_| vec![CODES * 8, CODES * 2, 64 * KIB],
    kernel: |scale, places| {
        let (codes, meanings, buffers) = (places[0], places[1], places[2]);
        let mut random = SplitMix64::new(1);
        let bytes = at(scale, [200_000, 1_000_000, 3_000_000]);
        let cleared = pages(codes, CODES * 8);
        let work = (0..bytes).flat_map(move |byte: u64| {
            let code = random.below(CODES);
            // Most bytes continue a known code.
            let known = random.below(4) > 0;
            let buffer = byte
                .is_multiple_of(64)
                .then_some(buffers + byte * 16 % (64 * KIB));
            let meaning = known.then_some(meanings + code * 2);
            buffer.into_iter().chain([codes + code * 8]).chain(meaning)
        });
        Box::new(cleared.chain(work))
    },
};

const CODES: u64 = 69_001;

/// Gaussian elimination. The program subtracts rows from rows in a column-major array, so that each
/// step is in the next column: in the next page.
pub(super) const NASA7_5: RomerProgram = RomerProgram {
    name: "nasa7-5",
    accesses: 11,
    arrays: |_| vec![SIDE * SIDE * 8],
    kernel: |scale, places| {
        let matrix = places[0];
        let pivots = (0..SIDE).step_by(at(scale, [40, 16, 1]) as usize);
        let work = pivots.flat_map(move |pivot| {
            (pivot + 1..SIDE).flat_map(move |row| {
                (pivot + 1..SIDE).map(move |column| matrix + (column * SIDE + row) * 8)
            })
        });
        Box::new(pages(matrix, SIDE * SIDE * 8).chain(work))
    },
};

/// The numbers of equations and unknowns. A column is a little less than a page.
const SIDE: u64 = 500;

/// Sweeps through twelve adjacent arrays of 132 KiB, forward and back, a plane of each at a time.
pub(super) const NASA7_4: RomerProgram = RomerProgram {
    name: "nasa7-4",
    accesses: 16,
    arrays: |_| vec![ARRAYS * PLANES * PAGE],
    kernel: |scale, places| {
        let arrays = places[0];
        let sweeps = at(scale, [600, 2500, 7500]);
        let read = pages(arrays, ARRAYS * PLANES * PAGE);
        let work = (0..sweeps).flat_map(move |sweep| {
            (0..PLANES).flat_map(move |step| {
                let plane = if sweep % 2 == 0 {
                    step
                } else {
                    PLANES - 1 - step
                };
                (0..ARRAYS).map(move |array| arrays + (array * PLANES + plane) * PAGE)
            })
        });
        Box::new(read.chain(work))
    },
};

const ARRAYS: u64 = 12;
const PLANES: u64 = 33;

/// The textbook transform, in place: elements change places, then butterflies in ever larger
/// groups, one group after the other, and those of one factor together.
pub(super) const FFT: RomerProgram = RomerProgram {
    name: "fft",
    accesses: 70,
    arrays: |scale| vec![elements(scale) * 8],
    kernel: |scale, places| {
        let (array, elements) = (places[0], elements(scale));
        let levels = elements.ilog2();
        let read = pages(array, elements * 8);
        let change_places = (0..elements).flat_map(move |element: u64| {
            let other = element.reverse_bits() >> (64 - levels);
            let changes = element < other;
            let two = changes.then_some([array + element * 8, array + other * 8]);
            two.into_iter().flatten()
        });
        let work = (0..levels).flat_map(move |level| butterflies(array, elements, level));
        Box::new(read.chain(change_places).chain(work))
    },
};

/// Butterflies between elements that are 2^`level` apart.
fn butterflies(array: u64, elements: u64, level: u32) -> Addresses {
    let (apart, page) = (1_u64 << level, PAGE / 8);
    if 2 * apart <= page {
        // Each factor passes over all groups, several in each page.
        return Box::new((0..apart).flat_map(move |_| pages(array, elements * 8)));
    }
    // Each pass handles two factors.
    Box::new((0..apart).step_by(2).flat_map(move |factor| {
        let groups = (0..elements).step_by(2 * apart as usize);
        groups.flat_map(move |group| {
            [group + factor, group + factor + apart].map(|element| array + element * 8)
        })
    }))
}

const fn elements(scale: Scale) -> u64 {
    at(scale, [1 << 16, 1 << 19, 1 << 22])
}

/// A compiler that compiles one function after the other: it uses nearby data for a long time, with
/// much computation.
pub(super) const GCC: RomerProgram = RomerProgram {
    name: "gcc",
    accesses: 294,
    arrays: |_| vec![1440 * KIB],
    kernel: |scale, places| {
        let memory = places[0];
        let visits = at(scale, [120_000, 360_000, 360_000]);
        let mut random = SplitMix64::new(2);
        Box::new((0..visits).map(move |visit| {
            let from = (1440 * KIB / PAGE - NEAR) * visit / visits;
            memory + (from + random.below(NEAR)) * PAGE
        }))
    },
};

/// The number of pages in use at a time.
const NEAR: u64 = 48;
