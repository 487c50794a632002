//! Programs of which some pages are never used, or late: `coral`, `fpga`, `cecil`, `atom` and `spice`.

use broadleaf_trace::synth::SplitMix64;

use super::programs::{KIB, MIB, PAGE, Program, at, pages};
use crate::papers::Scale;

/// Pieces within which what belongs together lies.
const NEAR: u64 = 64 * KIB;

/// Whether a byte is in the last page of each so many.
const fn is_hole(byte: u64, of: u64) -> bool {
    byte / PAGE % of == of - 1
}

/// A byte of an array: at random, but in no page that is never used. These are one of so many, by their address.
fn used(random: &mut SplitMix64, start: u64, bytes: u64, of: u64) -> u64 {
    let byte = start + random.below(bytes);
    if is_hole(byte, of) { byte - PAGE } else { byte }
}

/// One near another, in the same array.
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

/// One page of so many is never used.
const SELDOM: u64 = 32;

/// A nested join: tuples anywhere in a relation, and two others near each.
pub(super) const CORAL: Program = Program {
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

/// Cells of a circuit that change sides: three anywhere, and one near the last.
pub(super) const FPGA: Program = Program {
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

/// A compiler with a large heap: it goes on to new memory all the time, which it uses once, and comes back to what is old. Of that something
/// is in the same 16 KiB and something in the same 64.
pub(super) const CECIL: Program = Program {
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

/// A file is gone through once, a page of eight skipped; what is done to it stands in small tables.
pub(super) const ATOM: Program = Program {
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

/// A sparse matrix that is gone through again and again, with a window of 560 KiB in use at a time. One page of eight is used only at the end.
pub(super) const SPICE: Program = Program {
    name: "spice",
    accesses: 60,
    arrays: |_| vec![MATRIX],
    kernel: |scale, places| {
        let matrix = places[0];
        let visits = at(scale, [300_000, 1_500_000, 15_000_000]);
        let mut random = SplitMix64::new(7);
        let work = (0..visits).map(move |visit| {
            // On by a page at every eighth visit.
            let from = visit / 8 % ((MATRIX - WINDOW) / PAGE) * PAGE;
            used(&mut random, matrix + from, WINDOW, 8)
        });
        Box::new(work.chain(pages(matrix, MATRIX)))
    },
};

const MATRIX: u64 = 3200 * KIB;
const WINDOW: u64 = 560 * KIB;
