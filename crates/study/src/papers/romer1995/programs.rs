//! The paper's programs as references: the touched pages, their order, and the number of accesses
//! to each.

use broadleaf_trace::Visit;

use super::fragmented::{ATOM, CECIL, CORAL, FPGA, SPICE};
use super::kernels::{COMPRESS, FFT, GCC, NASA7_4, NASA7_5};
use crate::papers::Scale;
use crate::papers::generated::{Said, Saying, begin, map, touch};

pub(super) const PAGE: u64 = 4 << 10;
pub(super) const KIB: u64 = 1 << 10;
pub(super) const MIB: u64 = 1 << 20;

/// Addresses, in the order of visits.
pub(super) type Addresses = Box<dyn Iterator<Item = u64> + Send>;

/// A program of the paper: its arrays and its references.
#[derive(Clone, Copy)]
pub(super) struct RomerProgram {
    pub(super) name: &'static str,
    /// The number of accesses to a page before the next. With this number, the program's misses at
    /// 4 KiB weigh about as much as in the paper's tables 2 and 4, at three cycles per access.
    pub(super) accesses: u32,
    /// The size of each array, in bytes.
    pub(super) arrays: fn(Scale) -> Vec<u64>,
    /// The visited addresses, given the addresses of the arrays.
    pub(super) kernel: fn(Scale, &[u64]) -> Addresses,
}

/// All programs, in the order of the paper's tables.
pub(super) const PROGRAMS: [RomerProgram; 10] = [
    CORAL, COMPRESS, NASA7_5, NASA7_4, FPGA, CECIL, ATOM, FFT, SPICE, GCC,
];

/// Selects one of three values by scale.
pub(super) const fn at(scale: Scale, [tiny, quick, full]: [u64; 3]) -> u64 {
    match scale {
        Scale::Tiny => tiny,
        Scale::Quick => quick,
        Scale::Full => full,
    }
}

/// The address of a program's memory: a multiple of the largest page.
const START: u64 = 1 << 32;
/// The arrays are adjacent, with a page between them, as in a program's data. The first array is
/// aligned to no large page.
const FIRST: u64 = START + 192 * KIB;
const LARGEST: u64 = 8 * MIB;
/// One page of forty lies alone among eight: scattered data that the program uses once.
const ALONE: u64 = 40;
const APART: u64 = 8 * PAGE;
/// The number of instructions per access: three, one of which is a load or a store.
const INSTRUCTIONS: u32 = 3;

/// The addresses of arrays of these sizes, and the address after them.
fn places(arrays: &[u64]) -> (Vec<u64>, u64) {
    let mut next = FIRST;
    let place = |bytes: &u64| {
        let start = next;
        next += bytes.next_multiple_of(PAGE) + PAGE;
        start
    };
    (arrays.iter().map(place).collect(), next)
}

impl RomerProgram {
    /// The whole program, which never gives memory back.
    pub(super) fn say(self, scale: Scale) -> Saying {
        let (places, next) = places(&(self.arrays)(scale));
        let pages = ((next - FIRST) / PAGE / ALONE).max(2);
        let lonely = (0..pages).map(move |page| next + page * APART);
        let end = (next + pages * APART).next_multiple_of(LARGEST);
        let visited = lonely.chain((self.kernel)(scale, &places));
        let visits = visited.map(move |address| visit(address, self.accesses));
        Box::new(
            begin(1, self.name)
                .chain([map(START, end - START)])
                .chain(visits),
        )
    }
}

/// Makes `count` accesses to a page, a quarter of them stores.
fn visit(address: u64, accesses: u32) -> Said {
    let stores = accesses.div_ceil(4);
    match touch(address, accesses - stores, stores) {
        Said::Visit(visit) => Said::Visit(Visit {
            instructions: INSTRUCTIONS * accesses,
            ..visit
        }),
        event => event,
    }
}

/// Visits each page of a range, in order.
pub(super) fn pages(start: u64, bytes: u64) -> impl Iterator<Item = u64> + Send {
    (0..bytes / PAGE).map(move |page| start + page * PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_trace::Event;

    #[test]
    fn programs_stay_inside_what_they_map() {
        for program in PROGRAMS {
            let mut mapped = 0..0;
            let mut visits = 0_u64;
            for said in program.say(Scale::Tiny) {
                match said {
                    Said::Event(Event::Map(mapping)) => {
                        mapped = mapping.range.start.0..mapping.range.start.0 + mapping.range.len;
                    }
                    Said::Event(_) => {}
                    Said::Visit(visit) => {
                        visits += 1;
                        assert_eq!(u64::from(visit.instructions), 3 * visit.accesses());
                        let byte = visit.unit << 12;
                        assert!(mapped.contains(&byte), "{}: {byte:#x}", program.name);
                    }
                }
            }
            assert!(visits > 100_000, "{}: {visits}", program.name);
        }
    }

    #[test]
    fn kernels_stay_inside_their_arrays() {
        for program in PROGRAMS {
            let arrays = (program.arrays)(Scale::Tiny);
            let (places, _) = places(&arrays);
            let inside = |byte: &u64| {
                let mut arrays = places.iter().zip(&arrays);
                arrays.any(|(start, bytes)| (*start..start + bytes).contains(byte))
            };
            let outside = (program.kernel)(Scale::Tiny, &places).find(|byte| !inside(byte));
            assert_eq!(outside, None, "{}", program.name);
        }
    }
}
