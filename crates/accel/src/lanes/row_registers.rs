//! Moves of rows with AVX-512: a lookup is a comparison, a shift and a blend for each register.
//!
//! In sets of eight or sixteen lanes that fill one, two or four registers, each register holds
//! whole rows. Sets of other multiples of eight lanes move eight lanes at a time. One lane of four
//! ways fills a small register. What remains moves in loops.

use super::row_moves::{RowMoves, mask};
use super::sixteen::{GROUP_WAYS, Loops};

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
        if let Some(ways) = only_lane(rows) {
            return renew_four(self, ways, entry, *wanted);
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
        } else if let Some(ways) = only_lane(rows) {
            push_four(self, ways, entry, if lanes & 1 == 0 { 0 } else { u8::MAX });
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
    let is_known = matches!(LANES, 8 | 16) && rows.len() * LANES == GROUPS * GROUP_WAYS;
    if !is_known {
        return None;
    }
    rows.as_flattened_mut().as_chunks_mut().0.first_chunk_mut()
}

/// As [`RowMoves::renew_rows`].
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
            8 => vectors.avx512f._mm512_alignr_epi32::<8>(old, before),
            _ => before,
        };
        let to = (to >> (at * GROUP_WAYS)) as u16;
        *group = pulp::cast(vectors.avx512f._mm512_mask_blend_epi32(to, old, pushed));
        before = old;
    }
}

/// The set of the only lane, if it has four ways.
#[inline(always)]
fn only_lane<const LANES: usize>(rows: &mut [[u32; LANES]]) -> Option<&mut [u32; 4]> {
    if LANES != 1 {
        return None;
    }
    rows.as_flattened_mut().as_mut_array()
}

/// As [`renew_groups`], in one lane of four ways.
#[inline(always)]
fn renew_four(vectors: pulp::x86::V4, ways: &mut [u32; 4], entry: u32, wanted: u64) -> u64 {
    let all = vectors.sse2._mm_set1_epi32(entry.cast_signed());
    let found = vectors
        .avx512vl
        ._mm_cmpeq_epi32_mask(pulp::cast(*ways), all);
    let found = found & (wanted as u8).wrapping_neg();
    // The ways up to the one that holds the entry.
    let to = found | found >> 1;
    push_four(vectors, ways, entry, to | to >> 2);
    wanted & !u64::from(found != 0)
}

/// As [`push_groups`], in one lane of four ways.
#[inline(always)]
fn push_four(vectors: pulp::x86::V4, ways: &mut [u32; 4], entry: u32, to: u8) {
    let old = pulp::cast(*ways);
    let entry = vectors.sse2._mm_set1_epi32(entry.cast_signed());
    let before = vectors.ssse3._mm_alignr_epi8::<12>(old, entry);
    *ways = pulp::cast(vectors.avx512vl._mm_mask_blend_epi32(to, old, before));
}

/// The lanes of a register in sets of more lanes.
const COLUMN: usize = 8;

/// As [`RowMoves::renew_rows`], some lanes after the others.
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
