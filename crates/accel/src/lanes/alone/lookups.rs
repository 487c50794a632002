//! Lookups in one TLB, without a branch that depends on the level that a lookup hits.

use super::{Alone, AloneShape, Holding, OLDEST, PageId, Size};
use crate::lanes::sixteen::{SetMoves, SetWork};
use broadleaf_units::PageNumber;

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
    pub(super) found: &'a mut LaneLookups,
}

/// The results of a run of lookups.
#[derive(Clone, Copy, Default)]
pub(super) struct LaneLookups {
    pub(super) second_hits: u64,
    pub(super) walks: u64,
    pub(super) super_walks: u64,
}

impl<F: Fn(PageId) -> (bool, bool)> SetWork for Lookups<'_, F> {
    /// The number of lookups made. The next lookup, if any, needs the slow path.
    type Output = usize;

    #[inline(always)]
    fn with<M: SetMoves>(self, moves: M) -> usize {
        match self.holding {
            Holding::NoSuperpage => self.look_up::<true, false, false>(moves),
            Holding::NoBasePage => self.look_up::<false, true, false>(moves),
            Holding::BasePagesFirst => self.look_up::<false, true, true>(moves),
            Holding::Both => self.look_up::<true, true, true>(moves),
        }
    }
}

impl<F: Fn(PageId) -> (bool, bool)> Lookups<'_, F> {
    /// Makes the lookups. If `BASE` or `SUPER` is false, the first lookup of a base page or of a
    /// superpage takes the slow path, and the sets need no choice. `STRAYS` is true if there may be
    /// strays. Without base pages, they are at the first level alone and are watched.
    #[inline(always)]
    fn look_up<const BASE: bool, const SUPER: bool, const STRAYS: bool>(
        self,
        moves: impl SetMoves,
    ) -> usize {
        let both = [self.shape.base, self.shape.superpage];
        let only = if BASE { both[0] } else { both[1] };
        let first = self.alone.first.as_mut_slice();
        let second = self.alone.second.as_mut_slice();
        let watched = &self.alone.watched;
        let ids = &self.ids[..self.pages.len()];
        let (mut second_hits, mut walks, mut super_walks) = (0, 0, 0);
        let mut made = 0;
        while made < ids.len() {
            let (page, id) = (self.pages[made], ids[made]);
            let (is_super, mut is_odd) = (self.size)(id);
            // The page size cannot be predicted, so the choice is no branch.
            let is_this = if BASE { SUPER & is_super } else { true };
            let sets = if BASE & SUPER {
                both[usize::from(is_this)]
            } else {
                only
            };
            let pick = u32::from(is_this).wrapping_neg();
            let entry = id.entry(Size::Base) & !pick | id.entry(Size::Superpage) & pick;
            let ([base, _], stray) = (&both, id.entry(Size::Base));
            if STRAYS & !BASE {
                is_odd |= watched.may_hold(id);
            } else if STRAYS {
                let set = &first[base.start + base.first.set_of(page)];
                is_odd |= is_super & holds(set, stray);
                let set = &second[base.second.set_of(page)];
                is_odd |= is_super & (moves.find(&set.0, stray) != 0);
            }
            if !(BASE & SUPER) {
                is_odd |= is_super != is_this;
            }
            if is_odd {
                break;
            }
            made += 1;
            let set = &mut first[sets.start + sets.first.set_of(page)];
            if moves.use_in_four(set, entry) {
                continue;
            }
            let set = sets.second.set_of(page);
            let hits = moves.use_in(&mut second[set], entry, OLDEST);
            second_hits += u64::from(hits);
            walks += u64::from(!hits);
            super_walks += u64::from(!hits & is_super);
        }
        *self.found = LaneLookups {
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
