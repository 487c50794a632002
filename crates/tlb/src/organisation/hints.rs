//! Hints: the probable places of translations, so that a lookup seldom searches a whole set.

use broadleaf_units::{AlignedRun, Asid, PageNumber, PageSize};

/// The most slots, so that the hints of the largest structure take 12 MiB. Slots that several
/// entries share make lookups slower and change no answer.
const MOST_SLOTS: usize = 1 << 20;

/// The probable places of the entries of a structure, by a hash of what they translate.
///
/// A place is only a guess, which the user checks. The number of entries with a hash is exact if
/// the user reports each entry that comes or goes.
#[derive(Clone, Debug)]
pub(super) struct WayHints {
    /// The last two places of entries with a hash, the later one first.
    places: Vec<[u32; 2]>,
    entries: Vec<u32>,
    shift: u32,
    /// The number of entries by the size of their runs, and a bit for each size that has any. Bit
    /// and index are the size's shift.
    of_size: [u32; u64::BITS as usize],
    sizes: u64,
}

impl WayHints {
    /// The hints of a structure with this number of entries.
    pub(super) fn new(entries: usize) -> Self {
        let slots = (8 * entries).next_power_of_two().clamp(64, MOST_SLOTS);
        Self {
            places: vec![[0; 2]; slots],
            entries: vec![0; slots],
            shift: u64::BITS - slots.ilog2(),
            of_size: [0; u64::BITS as usize],
            sizes: 0,
        }
    }

    #[inline]
    fn slot(&self, tag: Asid, run: AlignedRun) -> usize {
        let key = run.first.0 ^ u64::from(tag.number()) << 45 ^ u64::from(run.size.shift()) << 58;
        // The multiplier of SplitMix64's sequence spreads neighbours.
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    /// The probable places of a translation's entry.
    #[inline]
    pub(super) fn guesses(&self, tag: Asid, run: AlignedRun) -> [usize; 2] {
        self.places[self.slot(tag, run)].map(|place| place as usize)
    }

    /// Notes the place of an entry.
    #[inline]
    pub(super) fn learn(&mut self, tag: Asid, run: AlignedRun, place: usize) {
        let slot = self.slot(tag, run);
        let [last, _] = self.places[slot];
        if last != place as u32 {
            self.places[slot] = [place as u32, last];
        }
    }

    /// Returns true if an entry may hold the translation, by the reports of entries that came and
    /// went.
    #[inline]
    pub(super) fn may_hold(&self, tag: Asid, run: AlignedRun) -> bool {
        self.entries[self.slot(tag, run)] > 0
    }

    /// Returns true if an entry of any size may hold a page. Runs are aligned, so each size has one
    /// run around the page.
    #[inline]
    pub(super) fn may_cover(&self, tag: Asid, page: PageNumber) -> bool {
        let mut sizes = self.sizes;
        while sizes != 0 {
            let shift = sizes.trailing_zeros() as u8;
            sizes &= sizes - 1;
            let size = PageSize::from_shift(shift);
            if size.is_none_or(|size| self.may_hold(tag, AlignedRun::around(page, size))) {
                return true;
            }
        }
        false
    }

    /// The size of all runs, if there is one.
    #[inline]
    pub(super) fn only_size(&self) -> Option<PageSize> {
        let is_one = self.sizes.is_power_of_two();
        PageSize::from_shift(self.sizes.trailing_zeros() as u8).filter(|_| is_one)
    }

    /// Returns true if an entry has a smaller run than this size.
    #[inline]
    pub(super) const fn has_smaller(&self, size: PageSize) -> bool {
        self.sizes & ((1 << size.shift()) - 1) != 0
    }

    /// An entry came to this place.
    pub(super) fn add(&mut self, tag: Asid, run: AlignedRun, place: usize) {
        let shift = run.size.shift();
        self.of_size[usize::from(shift)] += 1;
        self.sizes |= 1 << shift;
        let slot = self.slot(tag, run);
        self.entries[slot] += 1;
        self.learn(tag, run, place);
    }

    /// An entry went.
    pub(super) fn remove(&mut self, tag: Asid, run: AlignedRun) {
        let shift = run.size.shift();
        let left = &mut self.of_size[usize::from(shift)];
        *left -= 1;
        if *left == 0 {
            self.sizes &= !(1 << shift);
        }
        let slot = self.slot(tag, run);
        self.entries[slot] -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_of_the_largest_structure_are_small() {
        let hints = WayHints::new(1 << 24);
        assert_eq!(
            (hints.places.len(), hints.entries.len()),
            (1 << 20, 1 << 20)
        );
    }

    #[test]
    fn entries_that_came_and_went_are_not_held() {
        let run = |page| AlignedRun::around(PageNumber(page), PageSize::SIZE_4K);
        let mut hints = WayHints::new(16);
        for page in 0..16 {
            hints.add(Asid::ZERO, run(page), page as usize);
            assert!(hints.may_hold(Asid::ZERO, run(page)));
            assert_eq!(hints.guesses(Asid::ZERO, run(page))[0], page as usize);
        }
        (0..16).for_each(|page| hints.remove(Asid::ZERO, run(page)));
        assert!((0..1000).all(|page| !hints.may_hold(Asid::ZERO, run(page))));
        hints.learn(Asid::ZERO, run(5), 3);
        assert_eq!(hints.guesses(Asid::ZERO, run(5)), [3, 5]);
    }

    #[test]
    fn an_entry_of_any_size_covers_its_pages_until_it_goes() {
        let mut hints = WayHints::new(16);
        let large = AlignedRun::around(PageNumber(512), PageSize::SIZE_2M);
        let small = AlignedRun::around(PageNumber(3), PageSize::SIZE_4K);
        hints.add(Asid::ZERO, large, 1);
        hints.add(Asid::ZERO, small, 2);
        let covers = |hints: &WayHints, page| hints.may_cover(Asid::ZERO, PageNumber(page));
        assert!([3, 512, 1023].iter().all(|page| covers(&hints, *page)));
        assert!(hints.has_smaller(PageSize::SIZE_2M) && !hints.has_smaller(PageSize::SIZE_4K));
        hints.remove(Asid::ZERO, small);
        assert!(!covers(&hints, 3) && covers(&hints, 700));
        assert!(!hints.has_smaller(PageSize::SIZE_2M));
        hints.remove(Asid::ZERO, large);
        assert!((0..2000).all(|page| !covers(&hints, page)));
    }
}
