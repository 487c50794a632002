//! Sets of TLBs in groups of sixteen ways, newest entry first, and their moves as vector
//! instructions.
//!
//! A lookup moves one entry to the front: the entry that it finds, or the oldest one. The ways
//! before take the entry of their neighbour. With AVX-512, each group of ways is one register, so a
//! move is a comparison, a shift and a blend. Without it, the compiler vectorizes the loops.

use super::entry::EMPTY;
use super::row_moves::RowMoves;
#[cfg(target_arch = "x86_64")]
use super::rows_in_loops::RowsInLoops;
use pulp::{Arch, NullaryFnOnce};

/// The ways of a group.
pub(super) const GROUP_WAYS: usize = 16;

/// A group of ways in one cache line. The last group of a set holds empty entries after its ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub(super) struct WayGroup(pub(super) [u32; GROUP_WAYS]);

impl WayGroup {
    pub(super) const EMPTY: Self = Self([EMPTY; GROUP_WAYS]);
}

/// The moves of entries in a set.
pub(super) trait SetMoves: RowMoves {
    /// The moves for rows of four lanes.
    type OfFour: SetMoves;

    /// The moves for rows of four lanes. The sets of one lane have the same moves.
    fn of_four(self) -> Self::OfFour;

    /// A bit for each way that holds an entry.
    fn find(self, ways: &[u32; GROUP_WAYS], wanted: u32) -> u32;

    /// Puts an entry into the first way. Each way up to the lowest one in `to` takes the entry of
    /// the way before. `to` is not 0.
    fn push(self, ways: &mut [u32; GROUP_WAYS], entry: u32, to: u32);

    /// Makes an entry the newest of a set of four ways. Returns whether it was there; if not, the
    /// oldest entry goes.
    fn use_in_four(self, set: &mut [u32; 4], wanted: u32) -> bool;

    /// Makes an entry the newest of a set of one group. Returns whether it was there; if not, the
    /// entry in the way `oldest`, which is one bit, goes.
    #[inline(always)]
    fn use_in(self, set: &mut WayGroup, wanted: u32, oldest: u32) -> bool {
        let found = self.find(&set.0, wanted);
        self.push(&mut set.0, wanted, found | oldest);
        found != 0
    }

    /// Makes an entry the newest of a set if it is there. Returns whether it was there.
    #[inline(always)]
    fn renew(self, set: &mut [WayGroup], wanted: u32) -> bool {
        for group in 0..set.len() {
            let found = self.find(&set[group].0, wanted);
            if found != 0 {
                self.push_through(&mut set[..=group], wanted, found);
                return true;
            }
        }
        false
    }

    /// Makes an entry the newest of a set. The entry in the way `to` of the last group goes.
    #[inline(always)]
    fn push_through(self, set: &mut [WayGroup], entry: u32, to: u32) {
        let mut entry = entry;
        if let Some((last, before)) = set.split_last_mut() {
            for group in before {
                let pushed_out = group.0[GROUP_WAYS - 1];
                self.push(&mut group.0, entry, 1 << (GROUP_WAYS - 1));
                entry = pushed_out;
            }
            self.push(&mut last.0, entry, to);
        }
    }
}

/// Moves in loops.
#[derive(Clone, Copy)]
pub(super) struct Loops;

impl SetMoves for Loops {
    type OfFour = Self;

    #[inline(always)]
    fn of_four(self) -> Self {
        self
    }

    #[inline(always)]
    fn find(self, ways: &[u32; GROUP_WAYS], wanted: u32) -> u32 {
        let mut found = 0;
        for (way, entry) in ways.iter().enumerate() {
            found |= u32::from(*entry == wanted) << way;
        }
        found
    }

    #[inline(always)]
    fn push(self, ways: &mut [u32; GROUP_WAYS], entry: u32, to: u32) {
        let last = to.trailing_zeros();
        let old = *ways;
        for way in 0..GROUP_WAYS {
            let before = if way == 0 { entry } else { old[way - 1] };
            let moves = u32::from(way as u32 <= last).wrapping_neg();
            ways[way] = before & moves | old[way] & !moves;
        }
    }

    #[inline(always)]
    fn use_in_four(self, set: &mut [u32; 4], wanted: u32) -> bool {
        let [a, b, c, d] = *set;
        let in_a = a == wanted;
        let in_b = in_a | (b == wanted);
        let in_c = in_b | (c == wanted);
        let pick = |found: bool, own: u32, before: u32| {
            let mask = u32::from(found).wrapping_neg();
            own & mask | before & !mask
        };
        *set = [wanted, pick(in_a, b, a), pick(in_b, c, b), pick(in_c, d, c)];
        in_c | (d == wanted)
    }
}

#[cfg(target_arch = "x86_64")]
impl SetMoves for pulp::x86::V4 {
    type OfFour = RowsInLoops;

    #[inline(always)]
    fn of_four(self) -> RowsInLoops {
        RowsInLoops(self)
    }

    #[inline(always)]
    fn find(self, ways: &[u32; GROUP_WAYS], wanted: u32) -> u32 {
        let wanted = self.avx512f._mm512_set1_epi32(wanted.cast_signed());
        let found = self
            .avx512f
            ._mm512_cmpeq_epi32_mask(pulp::cast(*ways), wanted);
        u32::from(found)
    }

    #[inline(always)]
    fn push(self, ways: &mut [u32; GROUP_WAYS], entry: u32, to: u32) {
        let old = pulp::cast(*ways);
        let entry = self.avx512f._mm512_set1_epi32(entry.cast_signed());
        let before = self.avx512f._mm512_alignr_epi32::<15>(old, entry);
        // The bits up to the lowest one.
        let moves = (to ^ to.wrapping_sub(1)) as u16;
        *ways = pulp::cast(self.avx512f._mm512_mask_blend_epi32(moves, old, before));
    }

    #[inline(always)]
    fn use_in_four(self, set: &mut [u32; 4], wanted: u32) -> bool {
        let old = pulp::cast(*set);
        let wanted = self.sse2._mm_set1_epi32(wanted.cast_signed());
        let found = self.avx512vl._mm_cmpeq_epi32_mask(old, wanted);
        let to = found | 1 << 3;
        let before = self.ssse3._mm_alignr_epi8::<12>(old, wanted);
        let moves = to ^ to.wrapping_sub(1);
        *set = pulp::cast(self.avx512vl._mm_mask_blend_epi32(moves, old, before));
        found != 0
    }
}

/// Work on sets, for any kind of moves.
pub(super) trait SetWork {
    /// The result.
    type Output;

    /// Does the work.
    fn with<M: SetMoves>(self, moves: M) -> Self::Output;
}

/// Work with its moves.
struct CompiledWork<W, M>(W, M);

impl<W: SetWork, M: SetMoves> NullaryFnOnce for CompiledWork<W, M> {
    type Output = W::Output;

    #[inline(always)]
    fn call(self) -> W::Output {
        self.0.with(self.1)
    }
}

/// Does work that is compiled for the processor's vector instructions.
#[inline(always)]
pub(super) fn dispatch<W: SetWork>(vectors: Arch, work: W) -> W::Output {
    match vectors {
        #[cfg(target_arch = "x86_64")]
        Arch::V4(moves) => pulp::Simd::vectorize(moves, CompiledWork(work, moves)),
        others => others.dispatch(CompiledWork(work, Loops)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_tlb::set;

    /// Sets of one group and of two hold the entries of an ordered set after the same lookups.
    struct Compared;

    impl SetWork for Compared {
        type Output = [u32; 2];

        fn with<M: SetMoves>(self, moves: M) -> [u32; 2] {
            let mut random = 88_172_645_463_325_252u64;
            let mut first = [EMPTY; 4];
            let (mut one, mut two) = (WayGroup::EMPTY, [WayGroup::EMPTY; 2]);
            let (mut plain_first, mut plain_one, mut plain_two) =
                ([EMPTY; 4], [EMPTY; 12], [EMPTY; 20]);
            let mut hits = [0; 2];
            for at in 0..10_000u64 {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let wanted = (random >> 20) as u32 % 18;
                let use_plain = |set: &mut [u32], wanted| {
                    let renewed = set::renew(set, wanted);
                    if !renewed {
                        set::insert(set, wanted);
                    }
                    renewed
                };
                let renewed = use_plain(&mut plain_first, wanted);
                assert_eq!(moves.use_in_four(&mut first, wanted), renewed);
                assert_eq!(first, plain_first);
                hits[0] += u32::from(renewed);
                let renewed = use_plain(&mut plain_one, wanted);
                assert_eq!(moves.use_in(&mut one, wanted, 1 << 11), renewed);
                assert_eq!(
                    (&one.0[..12], &one.0[12..]),
                    (&plain_one[..], &[EMPTY; 4][..])
                );
                hits[1] += u32::from(renewed);
                let wanted = (random >> 30) as u32 % 25;
                let renewed = set::renew(&mut plain_two, wanted);
                assert_eq!(moves.renew(&mut two, wanted), renewed);
                if !renewed && at % 3 > 0 {
                    set::insert(&mut plain_two, wanted);
                    moves.push_through(&mut two, wanted, 1 << 3);
                }
                let entries = [two[0].0, two[1].0].concat();
                assert_eq!(
                    (&entries[..20], &entries[20..]),
                    (&plain_two[..], &[EMPTY; 12][..])
                );
            }
            hits
        }
    }

    #[test]
    fn sets_are_used_as_in_order() {
        let hits = Compared.with(Loops);
        assert!(hits[0] > 1000 && hits[1] > 5000, "{hits:?}");
        assert_eq!(dispatch(Arch::new(), Compared), hits);
    }
}
