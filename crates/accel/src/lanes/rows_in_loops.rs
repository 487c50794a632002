//! Moves of rows in loops, beside moves of sets with AVX-512.
//!
//! Four lanes mostly hold one entry in the same way, or none holds it. Loops that end there are
//! faster than registers: a comparison of gcc on eight machines takes a tenth less. With more
//! lanes, registers are faster.

use super::row_moves::RowMoves;
use super::sixteen::{GROUP_WAYS, Loops, SetMoves};
use pulp::x86::V4;

/// Rows move in loops, and sets in registers.
#[derive(Clone, Copy)]
pub(super) struct RowsInLoops(pub(super) V4);

impl RowMoves for RowsInLoops {
    type Chosen<const LANES: usize> = [u32; LANES];

    #[inline(always)]
    fn chosen<const LANES: usize>(self, masks: &[u32; LANES]) -> [u32; LANES] {
        Loops.chosen(masks)
    }

    #[inline(always)]
    fn bits<const LANES: usize>(self, lanes: &[u32; LANES]) -> u64 {
        // The bits are those of the masks, so one instruction finds them.
        self.0.bits::<LANES>(&self.0.chosen(lanes))
    }

    #[inline(always)]
    fn renew_rows<const LANES: usize>(
        self,
        rows: &mut [[u32; LANES]],
        entry: u32,
        wanted: &[u32; LANES],
    ) -> [u32; LANES] {
        Loops.renew_rows(rows, entry, wanted)
    }

    #[inline(always)]
    fn put_in_rows<const LANES: usize>(self, rows: &mut [[u32; LANES]], entry: u32, lanes: u64) {
        Loops.put_in_rows(rows, entry, lanes);
    }
}

impl SetMoves for RowsInLoops {
    type OfFour = Self;

    #[inline(always)]
    fn of_four(self) -> Self {
        self
    }

    #[inline(always)]
    fn find(self, ways: &[u32; GROUP_WAYS], wanted: u32) -> u32 {
        self.0.find(ways, wanted)
    }

    #[inline(always)]
    fn push(self, ways: &mut [u32; GROUP_WAYS], entry: u32, to: u32) {
        self.0.push(ways, entry, to);
    }

    #[inline(always)]
    fn use_in_four(self, set: &mut [u32; 4], wanted: u32) -> bool {
        self.0.use_in_four(set, wanted)
    }
}
