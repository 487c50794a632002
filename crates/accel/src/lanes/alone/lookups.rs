//! Lookups in one TLB, without a branch that depends on the level that a lookup hits.

use super::{Alone, AloneShape, FIRST, Holding, PageId, ROOM, SECOND, Size};
use broadleaf_units::PageNumber;
use pulp::NullaryFnOnce;

/// A number in all ways of an order.
const EACH: u64 = 0x1111_1111_1111_1111;

/// A run of lookups. The loop is compiled for the processor's vector instructions.
pub(super) struct Lookups<'a, F> {
    pub(super) alone: &'a mut Alone,
    pub(super) shape: &'a AloneShape,
    pub(super) pages: &'a [PageNumber],
    pub(super) ids: &'a [PageId],
    /// Returns two flags for a page: the page lies in a superpage of some member of the group, and
    /// not of all members.
    pub(super) size: F,
    pub(super) holding: Holding,
    pub(super) found: &'a mut Found,
}

/// The results of a run of lookups.
#[derive(Clone, Copy, Default)]
pub(super) struct Found {
    pub(super) second_hits: u64,
    pub(super) walks: u64,
    pub(super) super_walks: u64,
}

impl<F: Fn(PageId) -> (bool, bool)> NullaryFnOnce for Lookups<'_, F> {
    /// The number of lookups made. The next lookup, if any, needs the slow path.
    type Output = usize;

    #[inline(always)]
    fn call(self) -> usize {
        match self.holding {
            Holding::NoSuperpage => self.look_up::<false, false, false>(),
            Holding::NoBasePage => self.look_up::<true, false, false>(),
            Holding::BasePagesFirst => self.look_up::<true, true, false>(),
            Holding::Both => self.look_up::<true, true, true>(),
        }
    }
}

impl<F: Fn(PageId) -> (bool, bool)> Lookups<'_, F> {
    /// Makes the lookups. If `SUPERPAGES` is false, the first lookup of a superpage takes the slow
    /// path. `FIRST` and `SECOND` are true if their level may hold strays.
    #[inline(always)]
    fn look_up<const SUPERPAGES: bool, const FIRST: bool, const SECOND: bool>(self) -> usize {
        let both = [self.shape.base, self.shape.superpage];
        let first = self.alone.first.as_mut_slice();
        let second = self.alone.second.as_mut_slice();
        let orders = &mut self.alone.orders[..second.len()];
        let ids = &self.ids[..self.pages.len()];
        let (mut second_hits, mut walks, mut super_walks) = (0, 0, 0);
        let mut made = 0;
        while made < ids.len() {
            let (page, id) = (self.pages[made], ids[made]);
            let (is_super, mut is_odd) = (self.size)(id);
            // The page size cannot be predicted, so the choice is no branch.
            let sets = &both[usize::from(is_super)];
            let pick = u32::from(is_super).wrapping_neg();
            let entry = id.entry(Size::Base) & !pick | id.entry(Size::Superpage) & pick;
            let ([base, _], stray) = (&both, id.entry(Size::Base));
            if FIRST {
                let set = &first[base.start + base.first.set_of(page)];
                is_odd |= is_super & holds(set, stray);
            }
            if SECOND {
                let set = &second[base.second.set_of(page)];
                is_odd |= is_super & holds(set, stray);
            }
            if !SUPERPAGES {
                is_odd |= is_super;
            }
            if is_odd {
                break;
            }
            made += 1;
            if use_first(&mut first[sets.start + sets.first.set_of(page)], entry) {
                continue;
            }
            let set = sets.second.set_of(page);
            let hits = use_second(&mut second[set], &mut orders[set], entry);
            second_hits += u64::from(hits);
            walks += u64::from(!hits);
            super_walks += u64::from(!hits & is_super);
        }
        *self.found = Found {
            second_hits,
            walks,
            super_walks,
        };
        made
    }
}

/// Returns true if a set holds an entry.
#[inline(always)]
fn holds<const WAYS: usize>(set: &[u32; WAYS], wanted: u32) -> bool {
    let mut found = 0;
    for entry in set {
        found |= u32::from(*entry == wanted);
    }
    found != 0
}

/// Makes an entry the newest of a set of the first level. Returns whether it was there; if not, the
/// oldest entry goes.
#[inline(always)]
pub(super) fn use_first(set: &mut [u32; FIRST], wanted: u32) -> bool {
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

/// Makes an entry the newest of a set of the second level. Returns whether it was there; if not,
/// the oldest entry goes.
#[inline(always)]
pub(super) fn use_second(set: &mut [u32; ROOM], order: &mut u64, wanted: u32) -> bool {
    let mut found = 0;
    for (way, entry) in set.iter().enumerate() {
        found |= u32::from(*entry == wanted).wrapping_neg() & (way as u32 + 1);
    }
    let oldest = (*order >> (4 * (SECOND - 1))) as u32 & 0xf;
    let way = if found == 0 { oldest } else { found - 1 };
    // The lowest four bits that are equal to the way are at the position of its rank.
    let others = *order ^ (EACH * u64::from(way));
    let rank = others.wrapping_sub(EACH) & !others & (EACH << 3);
    let moved = u64::MAX >> (u64::BITS - 1 - rank.trailing_zeros());
    *order = *order & !moved | (*order << 4) & moved | u64::from(way);
    set[way as usize % ROOM] = wanted;
    found != 0
}

#[cfg(test)]
mod tests {
    use super::super::{EMPTY, IN_ORDER};
    use super::*;
    use broadleaf_tlb::set;

    /// Sets of both levels hold the entries of an ordered set after the same lookups.
    #[test]
    fn sets_are_used_as_in_order() {
        let mut random = 88_172_645_463_325_252u64;
        let mut first = [EMPTY; FIRST];
        let (mut second, mut order) = ([EMPTY; ROOM], IN_ORDER);
        let (mut plain_first, mut plain_second) = ([EMPTY; FIRST], [EMPTY; SECOND]);
        let mut hits = [0; 2];
        for _ in 0..10_000 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let wanted = (random >> 20) as u32 % 18;
            let renewed = set::renew(&mut plain_first, wanted);
            if !renewed {
                set::insert(&mut plain_first, wanted);
            }
            assert_eq!(use_first(&mut first, wanted), renewed);
            assert_eq!(first, plain_first);
            hits[0] += u32::from(renewed);
            let renewed = set::renew(&mut plain_second, wanted);
            if !renewed {
                set::insert(&mut plain_second, wanted);
            }
            assert_eq!(use_second(&mut second, &mut order, wanted), renewed);
            for (rank, entry) in plain_second.iter().enumerate() {
                assert_eq!(second[(order >> (4 * rank)) as usize & 0xf], *entry);
            }
            hits[1] += u32::from(renewed);
        }
        assert!(hits[0] > 1000 && hits[1] > 5000, "{hits:?}");
    }
}
