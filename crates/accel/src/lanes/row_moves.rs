//! Moves of entries in a set of several TLBs side by side, as vector instructions.
//!
//! Loops over TLBs, which the compiler vectorizes, serve every shape and processor. With AVX-512,
//! most shapes have [moves in registers](super::row_registers).

use super::sixteen::Loops;

/// The moves of entries in the rows of a set. A row is a way, newest first; each TLB has a column.
pub(super) trait RowMoves: Copy {
    /// Some lanes.
    type Chosen<const LANES: usize>: Copy;

    /// The lanes for which a mask is all ones; the others are 0.
    fn chosen<const LANES: usize>(self, masks: &[u32; LANES]) -> Self::Chosen<LANES>;

    /// A bit for each of the lanes.
    fn bits<const LANES: usize>(self, lanes: &Self::Chosen<LANES>) -> u64;

    /// Looks for an entry in some lanes, and makes it the newest where it is there. Returns the
    /// lanes where it is not.
    fn renew_rows<const LANES: usize>(
        self,
        rows: &mut [[u32; LANES]],
        entry: u32,
        wanted: &Self::Chosen<LANES>,
    ) -> Self::Chosen<LANES>;

    /// Puts an entry into some lanes, given as bits, as the newest. The oldest goes.
    fn put_in_rows<const LANES: usize>(self, rows: &mut [[u32; LANES]], entry: u32, lanes: u64);
}

impl RowMoves for Loops {
    /// All ones or zero for each lane.
    type Chosen<const LANES: usize> = [u32; LANES];

    #[inline(always)]
    fn chosen<const LANES: usize>(self, masks: &[u32; LANES]) -> [u32; LANES] {
        *masks
    }

    #[inline(always)]
    fn bits<const LANES: usize>(self, lanes: &[u32; LANES]) -> u64 {
        let bits = lanes.iter().enumerate();
        bits.fold(0, |bits, (lane, used)| bits | u64::from(*used != 0) << lane)
    }

    /// The loops over lanes have no branches, so that they become vector instructions. The mask of
    /// remaining lanes is returned by value. If it were stored lane by lane, the processor could
    /// not forward the stores to one load of all lanes.
    #[inline(always)]
    fn renew_rows<const LANES: usize>(
        self,
        rows: &mut [[u32; LANES]],
        entry: u32,
        wanted: &[u32; LANES],
    ) -> [u32; LANES] {
        // In most lookups that find anything, it is found as the newest everywhere, or nowhere.
        let Some(first) = rows.first() else {
            return *wanted;
        };
        let mut left = [0; LANES];
        let mut any_left = 0;
        for lane in 0..LANES {
            left[lane] = wanted[lane] & !mask(first[lane] == entry);
            any_left |= left[lane];
        }
        if any_left == 0 {
            return left;
        }
        // Finds the lanes that hold the entry in a later row.
        let mut moves = [0; LANES];
        for row in &rows[1..] {
            for lane in 0..LANES {
                moves[lane] |= mask(row[lane] == entry);
            }
        }
        let mut any_moves = 0;
        for lane in 0..LANES {
            moves[lane] &= left[lane];
            any_moves |= moves[lane];
        }
        if any_moves == 0 {
            return left;
        }
        for lane in 0..LANES {
            left[lane] &= !moves[lane];
        }
        // Each way takes the entry of the way before it, up to the way that held the entry.
        let mut before = [entry; LANES];
        for row in rows {
            for lane in 0..LANES {
                let old = row[lane];
                row[lane] = before[lane] & moves[lane] | old & !moves[lane];
                moves[lane] &= !mask(old == entry);
                before[lane] = old;
            }
        }
        left
    }

    #[inline(always)]
    fn put_in_rows<const LANES: usize>(self, rows: &mut [[u32; LANES]], entry: u32, lanes: u64) {
        let mut lanes = lanes;
        while lanes != 0 {
            let lane = lanes.trailing_zeros() as usize;
            lanes &= lanes - 1;
            let mut before = entry;
            for row in &mut *rows {
                before = std::mem::replace(&mut row[lane], before);
            }
        }
    }
}

/// A mask of ones if the condition holds, otherwise zero, as vector comparisons return.
#[inline(always)]
pub(super) const fn mask(holds: bool) -> u32 {
    (holds as u32).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::super::entry::EMPTY;
    use super::super::sixteen::{SetMoves, SetWork, dispatch};
    use super::*;
    use broadleaf_tlb::set;
    use pulp::Arch;

    /// Sets side by side hold the entries of as many ordered sets after the same lookups.
    struct Compared<const LANES: usize, const WAYS: usize>;

    impl<const LANES: usize, const WAYS: usize> SetWork for Compared<LANES, WAYS> {
        type Output = u64;

        fn with<M: SetMoves>(self, moves: M) -> u64 {
            let mut random = 88_172_645_463_325_252u64;
            let mut below = |bound: u64| {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                (random >> 11) % bound
            };
            let mut rows = [[EMPTY; LANES]; WAYS];
            let mut plain = [[EMPTY; WAYS]; LANES];
            let mut renewed = 0;
            for _ in 0..20_000 {
                let entry = below(2 * WAYS as u64) as u32;
                let all = u64::MAX >> (u64::BITS as usize - LANES);
                let asked = (below(1 << 32) | below(1 << 32) << 32) & all;
                let masks: [u32; LANES] = std::array::from_fn(|lane| mask(asked >> lane & 1 != 0));
                let chosen = moves.chosen(&masks);
                assert_eq!(moves.bits(&chosen), asked);
                let left = moves.renew_rows(&mut rows, entry, &chosen);
                let mut expected = 0;
                for (lane, set) in plain.iter_mut().enumerate() {
                    let is_left = asked >> lane & 1 != 0 && !set::renew(set, entry);
                    expected |= u64::from(is_left) << lane;
                }
                assert_eq!(moves.bits(&left), expected);
                renewed += (asked & !expected).count_ones() as u64;
                // Some of the lanes that lack the entry get it.
                let put = expected & (below(1 << 32) | below(1 << 32) << 32);
                moves.put_in_rows(&mut rows, entry, put);
                for (lane, set) in plain.iter_mut().enumerate() {
                    if put >> lane & 1 != 0 {
                        set::insert(set, entry);
                    }
                    assert!((0..WAYS).all(|way| rows[way][lane] == set[way]));
                }
            }
            renewed
        }
    }

    #[test]
    fn rows_are_used_as_sets_in_order() {
        fn shape<const LANES: usize, const WAYS: usize>() {
            let renewed = Compared::<LANES, WAYS>.with(Loops);
            assert!(renewed > 5000, "{LANES} lanes of {WAYS} ways: {renewed}");
            let by_vectors = dispatch(Arch::new(), Compared::<LANES, WAYS>);
            assert_eq!(by_vectors, renewed, "{LANES} lanes of {WAYS} ways");
        }
        shape::<1, 4>();
        shape::<4, 4>();
        shape::<4, 6>();
        shape::<4, 8>();
        shape::<4, 16>();
        shape::<8, 2>();
        shape::<8, 4>();
        shape::<8, 6>();
        shape::<8, 8>();
        shape::<16, 1>();
        shape::<16, 2>();
        shape::<16, 4>();
        shape::<16, 8>();
        shape::<24, 4>();
        shape::<64, 3>();
    }
}
