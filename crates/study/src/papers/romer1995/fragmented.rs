//! Programs with pages that are never used, or used late: `coral`, `fpga`, `cecil`, `atom` and
//! `spice`.

use broadleaf_trace::synth::SplitMix64;

use super::programs::{KIB, MIB, PAGE, RomerProgram, at, pages};
use crate::papers::Scale;

/// The sizes of the pieces that hold related data.
const NEAR: u64 = 64 * KIB;

/// Returns true if a byte is in the last page of a group of `every` pages.
const fn is_hole(byte: u64, every: u64) -> bool {
    byte / PAGE % every == every - 1
}

/// A random byte of an array, outside the unused pages. One page of `every` is unused, by its
/// address.
fn used(random: &mut SplitMix64, start: u64, bytes: u64, every: u64) -> u64 {
    let byte = start + random.below(bytes);
    if is_hole(byte, every) {
        byte - PAGE
    } else {
        byte
    }
}

/// A random byte near another, in the same array.
fn near(
    random: &mut SplitMix64,
    byte: u64,
    within: u64,
    (start, bytes): (u64, u64),
    of: u64,
) -> u64 {
    let piece = (byte - byte % within).clamp(start, start + bytes - within);
    used(random, piece, within, of).max(start)
}

/// The frequency of unused pages: one in this number.
const SELDOM: u64 = 32;

/// A nested join: random tuples of a relation, and two others near each.
pub(super) const CORAL: RomerProgram = RomerProgram {
    name: "coral",
    accesses: 19,
    arrays: |scale| vec![relation(scale)],
    kernel: |scale, places| {
        let array = (places[0], relation(scale));
        let mut random = SplitMix64::new(3);
        let stored = pages(array.0, array.1).filter(|byte| !is_hole(*byte, SELDOM));
        let probes = at(scale, [120_000, 800_000, 10_000_000]);
        let work = (0..probes).flat_map(move |_| {
            let tuple = used(&mut random, array.0, array.1, SELDOM);
            let mut other = || near(&mut random, tuple, NEAR, array, SELDOM);
            [tuple, other(), other()]
        });
        Box::new(stored.chain(work))
    },
};

const fn relation(scale: Scale) -> u64 {
    at(scale, [MIB, 4 * MIB, 34 * MIB])
}

/// Cells of a circuit that change sides: three random cells, and one near the last.
pub(super) const FPGA: RomerProgram = RomerProgram {
    name: "fpga",
    accesses: 39,
    arrays: |scale| vec![circuit(scale)],
    kernel: |scale, places| {
        let array = (places[0], circuit(scale));
        let mut random = SplitMix64::new(4);
        let stored = pages(array.0, array.1).filter(|byte| !is_hole(*byte, SELDOM));
        let moves = at(scale, [90_000, 600_000, 5_000_000]);
        let work = (0..moves).flat_map(move |_| {
            let mut cell = || used(&mut random, array.0, array.1, SELDOM);
            let cells = [cell(), cell(), cell()];
            let neighbour = near(&mut random, cells[2], NEAR, array, SELDOM);
            cells.into_iter().chain([neighbour])
        });
        Box::new(stored.chain(work))
    },
};

const fn circuit(scale: Scale) -> u64 {
    at(scale, [MIB, 5 * MIB, 42 * MIB])
}

/// A compiler with a large heap. It always goes on to new memory, which it uses once, and returns
/// to old memory. Some of the old memory is in the same 16 KiB, and some in the same 64 KiB.
pub(super) const CECIL: RomerProgram = RomerProgram {
    name: "cecil",
    accesses: 163,
    arrays: |scale| {
        let [old, new] = heap(scale);
        vec![old, new]
    },
    kernel: |scale, places| {
        let [old, new] = heap(scale);
        let (old, new) = ((places[0], old), (places[1], new));
        let mut random = SplitMix64::new(5);
        let stored = pages(old.0, old.1).filter(|byte| !is_hole(*byte, SELDOM));
        let fresh = pages(new.0, new.1).filter(|byte| !is_hole(*byte, SELDOM));
        let work = fresh.flat_map(move |page| {
            let mut looked_up = vec![page];
            for _ in 0..300 {
                let object = used(&mut random, old.0, old.1, SELDOM);
                looked_up.push(object);
                for within in [16 * KIB, NEAR] {
                    looked_up.push(near(&mut random, object, within, old, SELDOM));
                }
            }
            looked_up
        });
        Box::new(stored.chain(work))
    },
};

const fn heap(scale: Scale) -> [u64; 2] {
    [
        at(scale, [MIB, 4 * MIB, 96 * MIB]),
        at(scale, [MIB, 8 * MIB, 186 * MIB]),
    ]
}

/// One pass over a file that skips one page of eight, with small tables for its results.
pub(super) const ATOM: RomerProgram = RomerProgram {
    name: "atom",
    accesses: 88,
    arrays: |scale| [&TABLES[..], &[at(scale, [MIB, 4 * MIB, 32 * MIB])]].concat(),
    kernel: |scale, places| {
        let (tables, file) = (places[..TABLES.len()].to_vec(), places[TABLES.len()]);
        let bytes = at(scale, [MIB, 4 * MIB, 32 * MIB]);
        let mut random = SplitMix64::new(6);
        let read = pages(file, bytes).filter(|byte| !is_hole(*byte, 8));
        Box::new(read.flat_map(move |page| {
            let mut visits = vec![page];
            for _ in 0..850 {
                let table = random.below(TABLES.len() as u64) as usize;
                visits.push(tables[table] + random.below(TABLES[table]));
            }
            visits
        }))
    },
};

const TABLES: [u64; 5] = [128 * KIB, 128 * KIB, 64 * KIB, 64 * KIB, 64 * KIB];

/// Repeated passes over a sparse matrix, with a window of 560 KiB in use at a time. One page of
/// eight is used only at the end.
pub(super) const SPICE: RomerProgram = RomerProgram {
    name: "spice",
    accesses: 60,
    arrays: |_| vec![MATRIX],
    kernel: |scale, places| {
        let matrix = places[0];
        let visits = at(scale, [300_000, 1_500_000, 15_000_000]);
        let mut random = SplitMix64::new(7);
        let work = (0..visits).map(move |visit| {
            // The window advances by a page at every eighth visit.
            let from = visit / 8 % ((MATRIX - WINDOW) / PAGE) * PAGE;
            used(&mut random, matrix + from, WINDOW, 8)
        });
        Box::new(work.chain(pages(matrix, MATRIX)))
    },
};

const MATRIX: u64 = 3200 * KIB;
const WINDOW: u64 = 560 * KIB;
