//! Re-reference predictions of lines, as SRRIP and DRRIP keep them.

use alloc::vec;
use alloc::vec::Vec;
use broadleaf_units::StructureParameter;

/// The parameter of rules with predictions.
pub(super) const BITS: StructureParameter =
    StructureParameter::number("bits", (1, 8), 2, "the bits of a prediction");

/// The predicted distance of each line's next use, set after set.
#[derive(Debug)]
pub(super) struct Predictions {
    ways: usize,
    distances: Vec<u8>,
    /// The largest distance.
    pub(super) farthest: u8,
}

impl Predictions {
    pub(super) fn new(sets: usize, ways: usize, bits: u64) -> Self {
        Self {
            ways,
            distances: vec![0; sets * ways],
            farthest: u8::MAX >> (8 - bits),
        }
    }

    #[inline]
    pub(super) fn set(&mut self, set: usize, way: usize, distance: u8) {
        self.distances[set * self.ways + way] = distance;
    }

    /// The first line with the largest distance. If there is none, all distances of the set grow
    /// until there is.
    #[inline]
    pub(super) fn victim(&mut self, set: usize) -> usize {
        let first = set * self.ways;
        let distances = &mut self.distances[first..first + self.ways];
        let most = distances.iter().copied().max().unwrap_or(0);
        let missing = self.farthest - most;
        let victim = distances.iter().position(|distance| *distance == most);
        if missing > 0 {
            distances.iter_mut().for_each(|one| *one += missing);
        }
        victim.unwrap_or(0)
    }
}
