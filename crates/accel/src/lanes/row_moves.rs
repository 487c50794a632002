//! Moves of entries in a set of several TLBs side by side, as vector instructions.
//!
//! With AVX-512, four or eight TLBs with sets of four or eight ways are a few registers, so a
//! lookup in all of them is a comparison, a shift and a blend for each register. Without it, and
//! for other shapes, the compiler vectorizes the loops over TLBs.

use super::sixteen::{GROUP_WAYS, Loops};

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
const fn mask(holds: bool) -> u32 {
    (holds as u32).wrapping_neg()
}

/// A bit for the first of each `lanes` positions.
const fn every(lanes: usize) -> u64 {
    let (mut bits, mut at) = (0, 0);
    while at < u64::BITS as usize {
        bits |= 1 << at;
        at += lanes;
    }
    bits
}

/// The bits of the first `lanes` positions.
const fn first(lanes: usize) -> u64 {
    u64::MAX >> (u64::BITS as usize - lanes)
}

#[cfg(target_arch = "x86_64")]
impl RowMoves for pulp::x86::V4 {
    /// A bit for each lane.
    type Chosen<const LANES: usize> = u64;

    #[inline(always)]
    fn chosen<const LANES: usize>(self, masks: &[u32; LANES]) -> u64 {
        let (groups, others) = masks.as_chunks::<GROUP_WAYS>();
        let mut bits = 0;
        for (lane, used) in others.iter().enumerate() {
            bits |= u64::from(*used != 0) << (groups.len() * GROUP_WAYS + lane);
        }
        for (group, lanes) in groups.iter().enumerate() {
            let lanes = pulp::cast(*lanes);
            let used = self.avx512f._mm512_test_epi32_mask(lanes, lanes);
            bits |= u64::from(used) << (group * GROUP_WAYS);
        }
        bits
    }

    #[inline(always)]
    fn bits<const LANES: usize>(self, lanes: &u64) -> u64 {
        *lanes
    }

    #[inline(always)]
    fn renew_rows<const LANES: usize>(
        self,
        rows: &mut [[u32; LANES]],
        entry: u32,
        wanted: &u64,
    ) -> u64 {
        if let Some(groups) = groups_of::<LANES, 1>(rows) {
            return renew_groups::<LANES, 1>(self, groups, entry, *wanted);
        }
        if let Some(groups) = groups_of::<LANES, 2>(rows) {
            return renew_groups::<LANES, 2>(self, groups, entry, *wanted);
        }
        if let Some(groups) = groups_of::<LANES, 4>(rows) {
            return renew_groups::<LANES, 4>(self, groups, entry, *wanted);
        }
        if LANES.is_multiple_of(COLUMN) {
            return renew_columns(self, rows, entry, *wanted);
        }
        let masks = std::array::from_fn(|lane| mask(wanted >> lane & 1 != 0));
        self.chosen(&Loops.renew_rows(rows, entry, &masks))
    }

    #[inline(always)]
    fn put_in_rows<const LANES: usize>(self, rows: &mut [[u32; LANES]], entry: u32, lanes: u64) {
        let to = (lanes & first(LANES)).wrapping_mul(every(LANES));
        if let Some(groups) = groups_of::<LANES, 1>(rows) {
            push_groups::<LANES, 1>(self, groups, entry, to);
        } else if let Some(groups) = groups_of::<LANES, 2>(rows) {
            push_groups::<LANES, 2>(self, groups, entry, to);
        } else if let Some(groups) = groups_of::<LANES, 4>(rows) {
            push_groups::<LANES, 4>(self, groups, entry, to);
        } else {
            Loops.put_in_rows(rows, entry, lanes);
        }
    }
}

/// The rows of a set as registers, if they fill `GROUPS` of them, and a row fills a part of one.
#[inline(always)]
fn groups_of<const LANES: usize, const GROUPS: usize>(
    rows: &mut [[u32; LANES]],
) -> Option<&mut [[u32; GROUP_WAYS]; GROUPS]> {
    let is_known = matches!(LANES, 4 | 8 | 16) && rows.len() * LANES == GROUPS * GROUP_WAYS;
    if !is_known {
        return None;
    }
    rows.as_flattened_mut().as_chunks_mut().0.first_chunk_mut()
}

/// As [`RowMoves::renew_rows`].
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn renew_groups<const LANES: usize, const GROUPS: usize>(
    vectors: pulp::x86::V4,
    groups: &mut [[u32; GROUP_WAYS]; GROUPS],
    entry: u32,
    wanted: u64,
) -> u64 {
    let all = vectors.avx512f._mm512_set1_epi32(entry.cast_signed());
    let mut found = 0;
    for (at, group) in groups.iter().enumerate() {
        let ways = vectors
            .avx512f
            ._mm512_cmpeq_epi32_mask(pulp::cast(*group), all);
        found |= u64::from(ways) << (at * GROUP_WAYS);
    }
    // The ways up to the one that holds the entry.
    let mut to = found;
    let mut ways = 1;
    while ways * LANES < GROUPS * GROUP_WAYS {
        to |= to >> (ways * LANES);
        ways *= 2;
    }
    let found = to & wanted;
    // An unpredictable branch costs more than a move that changes nothing.
    push_groups::<LANES, GROUPS>(
        vectors,
        groups,
        entry,
        to & found.wrapping_mul(every(LANES)),
    );
    wanted & !found
}

/// Puts an entry into the first way. Each way with a bit in `to` takes the entry of the way before
/// it, in its lane.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn push_groups<const LANES: usize, const GROUPS: usize>(
    vectors: pulp::x86::V4,
    groups: &mut [[u32; GROUP_WAYS]; GROUPS],
    entry: u32,
    to: u64,
) {
    let mut before = vectors.avx512f._mm512_set1_epi32(entry.cast_signed());
    for (at, group) in groups.iter_mut().enumerate() {
        let old = pulp::cast(*group);
        let pushed = match LANES {
            4 => vectors.avx512f._mm512_alignr_epi32::<12>(old, before),
            8 => vectors.avx512f._mm512_alignr_epi32::<8>(old, before),
            _ => before,
        };
        let to = (to >> (at * GROUP_WAYS)) as u16;
        *group = pulp::cast(vectors.avx512f._mm512_mask_blend_epi32(to, old, pushed));
        before = old;
    }
}

/// The lanes of a register in sets of more lanes.
const COLUMN: usize = 8;

/// As [`RowMoves::renew_rows`], some lanes after the others.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn renew_columns<const LANES: usize>(
    vectors: pulp::x86::V4,
    rows: &mut [[u32; LANES]],
    entry: u32,
    wanted: u64,
) -> u64 {
    let all = vectors.avx._mm256_set1_epi32(entry.cast_signed());
    let holding = |row: &[u32; COLUMN]| {
        let row = pulp::cast(*row);
        vectors.avx512vl._mm256_cmpeq_epi32_mask(row, all)
    };
    let mut left = wanted;
    for column in 0..LANES / COLUMN {
        let first = column * COLUMN;
        let found = rows
            .iter()
            .fold(0, |found, row| found | holding(&row.as_chunks().0[column]));
        let mut moves = found & (wanted >> first) as u8;
        left &= !(u64::from(moves) << first);
        // Each way takes the entry of the way before it, up to the way that held the entry.
        let mut before = all;
        for row in &mut *rows {
            let row = &mut row.as_chunks_mut().0[column];
            let (old, held) = (pulp::cast(*row), holding(row));
            *row = pulp::cast(vectors.avx512vl._mm256_mask_blend_epi32(moves, old, before));
            moves &= !held;
            before = old;
        }
    }
    left
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
                let asked = below(1 << LANES.min(32)) | below(2) << (LANES - 1);
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
                let put = expected & below(u64::MAX);
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
        shape::<8, 4>();
        shape::<8, 8>();
        shape::<16, 4>();
        shape::<16, 8>();
        shape::<24, 4>();
        shape::<64, 3>();
    }
}
