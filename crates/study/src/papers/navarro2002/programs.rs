//! The kernels of the paper's programs as references: the touched memory, its order, and the amount
//! of reading.

use broadleaf_trace::synth::SplitMix64;

use super::setting::{MIB, PAGE};
use super::stand_ins::{CONNECT4, LINKER, POVRAY};
use crate::papers::Scale;
use crate::papers::generated::{Saying, begin, end, map, sweep, touch};

/// A program: its arrays, and its references after filling them.
#[derive(Clone, Copy)]
pub(super) struct NavarroProgram {
    pub(super) name: &'static str,
    /// The program of the paper.
    pub(super) represents: &'static str,
    /// The size of each array, in bytes.
    pub(super) arrays: fn(Scale) -> Vec<u64>,
    pub(super) kernel: fn(Scale, &[u64]) -> Saying,
}

/// All programs, in the order of the tables.
pub(super) const PROGRAMS: &[NavarroProgram] = &[
    FFT, MATRIX, IMAGE, MCF, VPR, SP, TREE, POVRAY, LINKER, CONNECT4,
];

/// The address of the first array. Each array begins at a multiple of the largest page, as kernels
/// place large mappings.
fn places(arrays: &[u64]) -> Vec<u64> {
    let mut next = 1 << 32;
    let place = |bytes: &u64| {
        let start = next;
        next += bytes.next_multiple_of(4 * MIB) + 4 * MIB;
        start
    };
    arrays.iter().map(place).collect()
}

impl NavarroProgram {
    /// The whole program, in its own address space.
    pub(super) fn say(self, space: u32, scale: Scale) -> Saying {
        let arrays = (self.arrays)(scale);
        let places = places(&arrays);
        let begun = begin(space, self.name);
        let pairs: Vec<(u64, u64)> = places.iter().copied().zip(arrays).collect();
        let mapped = pairs
            .clone()
            .into_iter()
            .map(|(start, bytes)| map(start, bytes));
        // Each store covers eight bytes.
        let filled = pairs
            .into_iter()
            .flat_map(|(start, bytes)| sweep(start, bytes, 0, 512));
        let kernel = (self.kernel)(scale, &places);
        Box::new(
            begun
                .chain(mapped)
                .chain(filled)
                .chain(kernel)
                .chain([end()]),
        )
    }
}

/// Two-dimensional transforms of complex numbers: all rows, then columns through a buffer, four at
/// a time.
pub(super) const FFT: NavarroProgram = NavarroProgram {
    name: "fft",
    represents: "FFTW",
    arrays: |scale| {
        let points = fft_points(scale);
        vec![points * points * 16, 64 * points]
    },
    kernel: |scale, places| {
        let (points, array, buffer) = (fft_points(scale), places[0], places[1]);
        let row = points * 16;
        // Each element is read and written once for every two levels of the recursion.
        let work = points.ilog2() / 2 * 128;
        let rows = sweep(array, points * row, work, work);
        let columns = (0..points).step_by(4).flat_map(move |column| {
            let along = move |loads, stores| {
                (0..points).map(move |at| touch(array + at * row + column * 16, loads, stores))
            };
            let work = sweep(buffer, 64 * points, 4 * work, 4 * work);
            along(8, 0).chain(work).chain(along(0, 8))
        });
        Box::new(rows.chain(columns))
    },
};

const fn fft_points(scale: Scale) -> u64 {
    match scale {
        Scale::Tiny => 512,
        Scale::Quick => 1024,
        Scale::Full => 2048,
    }
}

/// An unblocked transpose: it reads rows and writes columns.
const MATRIX: NavarroProgram = NavarroProgram {
    name: "matrix",
    represents: "Matrix",
    arrays: |scale| vec![matrix_side(scale).pow(2) * 8; 2],
    kernel: |scale, places| {
        let (side, from, to) = (matrix_side(scale), places[0], places[1]);
        Box::new((0..side).flat_map(move |row| {
            (0..side).flat_map(move |column| {
                let read = touch(from + (row * side + column) * 8, 1, 0);
                [read, touch(to + (column * side + row) * 8, 0, 1)]
            })
        }))
    },
};

/// The minimum size of a row is a base page.
const fn matrix_side(scale: Scale) -> u64 {
    match scale {
        Scale::Tiny | Scale::Quick => 1024,
        Scale::Full => 2048,
    }
}

/// The rotation of an image by 90 degrees: a row of pixels is read, processed, and becomes a
/// column.
const IMAGE: NavarroProgram = NavarroProgram {
    name: "image",
    represents: "Image (rotation)",
    arrays: |scale| {
        let (width, height) = image_sides(scale);
        vec![width * height * 8, width * height * 8, 8 * width]
    },
    kernel: |scale, places| {
        let (width, height) = image_sides(scale);
        let (from, to, buffer) = (places[0], places[1], places[2]);
        Box::new((0..height).flat_map(move |row| {
            let read = sweep(from + row * width * 8, width * 8, 512, 0);
            let worked_on = sweep(buffer, width * 8, 4096, 512);
            let written =
                (0..width).map(move |column| touch(to + (column * height + row) * 8, 0, 1));
            read.chain(worked_on).chain(written)
        }))
    },
};

const fn image_sides(scale: Scale) -> (u64, u64) {
    match scale {
        Scale::Tiny => (640, 480),
        Scale::Quick => (1280, 960),
        Scale::Full => (2560, 1920),
    }
}

const ARCS: u64 = 96 * MIB;

/// A network simplex: arcs in order, random nodes at their ends, and a small basket of candidates.
/// The three differ in size.
const MCF: NavarroProgram = NavarroProgram {
    name: "mcf",
    represents: "mcf",
    // Pages of 512 KiB do not reach across the arcs. The nodes end in the middle of a possible page
    // of 4 MiB, and the basket in the middle of one of 512 KiB.
    arrays: |_| vec![ARCS, 3 * MIB + MIB / 2, 384 << 10],
    kernel: |scale, places| {
        let (arcs, nodes, basket) = (places[0], places[1], places[2]);
        let rounds = match scale {
            Scale::Tiny => 300_000,
            Scale::Quick => 1_500_000,
            Scale::Full => 6_000_000,
        };
        let mut random = SplitMix64::new(1);
        Box::new((0..rounds).flat_map(move |round: u64| {
            let mut node = |loads, stores| touch(nodes + random.below(7 * MIB / 2), loads, stores);
            let ends = [node(6, 0), node(6, 1)];
            let arc = touch(arcs + random.below(ARCS), 2, 0);
            let next = touch(arcs + round * 64 % ARCS, 4, 0);
            let put = touch(basket + random.below(384 << 10), 8, 2);
            [next, ends[0].clone(), ends[1].clone(), arc, put]
        }))
    },
};

/// Blocks on a chip that swap places at random, in somewhat less than the largest page.
const VPR: NavarroProgram = NavarroProgram {
    name: "vpr",
    represents: "vpr",
    arrays: |_| vec![7 * MIB / 2],
    kernel: |scale, places| {
        let blocks = places[0];
        let moves = match scale {
            Scale::Tiny => 100_000,
            Scale::Quick => 500_000,
            Scale::Full => 5_000_000,
        };
        let mut random = SplitMix64::new(2);
        Box::new((0..moves).flat_map(move |_: u64| {
            let mut block = |stores| touch(blocks + random.below(7 * MIB / 2), 12, stores);
            [block(0), block(0), block(2)]
        }))
    },
};

/// The size of a grid in bytes: 39 points each way, a little less than 512 KiB.
const GRID: u64 = 58 * PAGE;
const POINTS: u64 = 39;
const GRIDS: u64 = 12;

/// Sweeps over twelve grids in three directions; each grid has its own mapping.
const SP: NavarroProgram = NavarroProgram {
    name: "sp",
    represents: "SP",
    arrays: |_| vec![GRID; GRIDS as usize],
    kernel: |scale, places| {
        let places = places.to_vec();
        let sweeps = match scale {
            Scale::Tiny => 2,
            Scale::Quick => 12,
            Scale::Full => 120,
        };
        Box::new((0..sweeps * 2).flat_map(move |number: u64| {
            let places = places.clone();
            // Lines along y are 312 bytes apart, and planes along z 12 KiB.
            let (along, across) = match number % 2 {
                0 => (POINTS * 8, POINTS * POINTS * 8),
                _ => (POINTS * POINTS * 8, POINTS * 8),
            };
            (0..POINTS).flat_map(move |outer| {
                let places = places.clone();
                (0..POINTS).flat_map(move |inner| {
                    let offset = outer * across + inner * along;
                    let grids = places.clone().into_iter();
                    grids.enumerate().map(move |(grid, start)| {
                        let stores = if grid % 4 == 0 { 39 } else { 0 };
                        touch(start + offset, 39, stores)
                    })
                })
            })
        }))
    },
};

/// A search tree with nodes in random places: all searches use the nodes near the root.
const TREE: NavarroProgram = NavarroProgram {
    name: "tree",
    represents: "Tree",
    arrays: |_| vec![16 * MIB],
    kernel: |scale, places| {
        let nodes = places[0];
        let searches: u64 = match scale {
            Scale::Tiny => 10_000,
            Scale::Quick => 60_000,
            Scale::Full => 1_000_000,
        };
        const LEVELS: u32 = 19;
        let mut random = SplitMix64::new(3);
        Box::new((0..searches).flat_map(move |_| {
            let key = random.next();
            (0..LEVELS).map(move |level| {
                let node = (1_u64 << level) + (key >> 1 >> (63 - level));
                // An odd factor gives each node a distinct place.
                let place = node.wrapping_mul(0x9e37_79b9) % (1 << LEVELS);
                touch(nodes + place * 32, 4, u32::from(level == LEVELS - 1))
            })
        }))
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::papers::generated::Said;
    use broadleaf_trace::Event;

    #[test]
    fn programs_stay_inside_what_they_map() {
        for program in PROGRAMS {
            let mut mapped = Vec::new();
            let (mut visits, mut ended) = (0_u64, false);
            for said in program.say(7, Scale::Tiny) {
                match said {
                    Said::Event(Event::Map(mapping)) => mapped.push(mapping.range),
                    Said::Event(Event::SpaceEnd { .. }) => ended = true,
                    Said::Event(_) => {}
                    Said::Visit(visit) => {
                        visits += 1;
                        let byte = visit.unit << 12;
                        let inside = mapped.iter().any(|range| {
                            (range.start.0..range.start.0 + range.len).contains(&byte)
                        });
                        assert!(inside, "{}: {byte:#x}", program.name);
                    }
                }
            }
            assert!(ended && visits > 30_000, "{}: {visits}", program.name);
        }
    }
}
