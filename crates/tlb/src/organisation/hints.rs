//! Hints: the probable places of translations, so that a lookup seldom searches a whole set.

use broadleaf_units::{AlignedRun, Asid};

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
}

impl WayHints {
    /// The hints of a structure with this number of entries.
    pub(super) fn new(entries: usize) -> Self {
        let slots = (8 * entries).next_power_of_two().clamp(64, MOST_SLOTS);
        Self {
            places: vec![[0; 2]; slots],
            entries: vec![0; slots],
            shift: u64::BITS - slots.ilog2(),
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

    /// An entry came to this place.
    pub(super) fn add(&mut self, tag: Asid, run: AlignedRun, place: usize) {
        let slot = self.slot(tag, run);
        self.entries[slot] += 1;
        self.learn(tag, run, place);
    }

    /// An entry went.
    pub(super) fn remove(&mut self, tag: Asid, run: AlignedRun) {
        let slot = self.slot(tag, run);
        self.entries[slot] -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_units::{PageNumber, PageSize};

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
}
