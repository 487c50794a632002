//! Substitutes for programs that --full records if the machine has them: a ray tracer, a linker and
//! a solver of Connect-4.

use broadleaf_trace::synth::SplitMix64;

use super::programs::NavarroProgram;
use super::setting::{MIB, PAGE};
use crate::papers::Scale;
use crate::papers::generated::{sweep, touch};

/// Traces rays through a tree of boxes. All rays visit the nodes near the root, leaves are in
/// random places, and each node takes much computation.
pub(super) const POVRAY: NavarroProgram = NavarroProgram {
    name: "povray",
    represents: "POV-Ray (stand-in)",
    arrays: |_| vec![6 * MIB, MIB],
    kernel: |scale, places| {
        const LEVELS: u32 = 16;
        let (tree, picture) = (places[0], places[1]);
        let rays: u64 = match scale {
            Scale::Tiny => 5_000,
            Scale::Quick => 60_000,
            Scale::Full => 1_000_000,
        };
        let mut random = SplitMix64::new(11);
        Box::new((0..rays).flat_map(move |ray| {
            let path = random.next();
            let boxes = (0..LEVELS).map(move |level| {
                let node = (1_u64 << level) + (path >> 1 >> (63 - level));
                touch(tree + node * 48 % (6 * MIB), 100, 8)
            });
            boxes.chain([touch(picture + ray * 12 % MIB, 0, 3)])
        }))
    },
};

/// Reads objects in order, looks up each symbol in a table, and writes the linked program in order.
pub(super) const LINKER: NavarroProgram = NavarroProgram {
    name: "linker",
    represents: "Linker (stand-in)",
    arrays: |scale| {
        let objects = objects(scale);
        vec![objects, 4 * MIB, objects / 2]
    },
    kernel: |scale, places| {
        let (from, symbols, to) = (places[0], places[1], places[2]);
        let mut random = SplitMix64::new(12);
        Box::new((0..objects(scale) / PAGE).flat_map(move |page| {
            let read = sweep(from + page * PAGE, PAGE, 512, 0);
            let looked_up: Vec<_> = (0..32)
                .map(|_| touch(symbols + random.below(4 * MIB), 12, 1))
                .collect();
            let written = sweep(to + page * PAGE / 2, PAGE / 2, 0, 512);
            read.chain(looked_up).chain(written)
        }))
    },
};

const fn objects(scale: Scale) -> u64 {
    match scale {
        Scale::Tiny => 8 * MIB,
        Scale::Quick => 16 * MIB,
        Scale::Full => 64 * MIB,
    }
}

/// Looks up positions in a table by their hash. Between two positions, the program tries moves on a
/// small board.
pub(super) const CONNECT4: NavarroProgram = NavarroProgram {
    name: "c4",
    represents: "C4 (stand-in)",
    arrays: |_| vec![8 * MIB, PAGE],
    kernel: |scale, places| {
        let (table, board) = (places[0], places[1]);
        let positions: u64 = match scale {
            Scale::Tiny => 50_000,
            Scale::Quick => 400_000,
            Scale::Full => 4_000_000,
        };
        let mut random = SplitMix64::new(13);
        Box::new((0..positions).flat_map(move |_| {
            let probed = touch(table + random.below(8 * MIB), 4, 1);
            [touch(board, 400, 100), probed]
        }))
    },
};
