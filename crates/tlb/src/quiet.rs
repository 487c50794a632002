//! Quiet lookups: lookups that hit the first level and change nothing, so that their answer is
//! enough.

use crate::TlbRequest;
use broadleaf_units::PageNumber;

/// The number of slots. They stay in the processor's first-level cache beside the rest.
const SLOTS: usize = 1 << 10;
/// Pages so near to each other have neighbouring slots.
const NEIGHBOURS: u64 = 16;
/// To forget more pages than this one by one takes longer than to learn all of them again.
const MOST_FORGOTTEN: u64 = 4 * NEIGHBOURS;

/// Lookups that were quiet when they were made last, and are quiet until something else changes.
#[derive(Clone, Debug)]
pub(crate) struct QuietLookups {
    slots: Box<[QuietPage; SLOTS]>,
    /// Pages of other epochs are forgotten.
    epoch: u32,
    /// The number of times that a page was forgotten, or all.
    forgotten: u64,
}

/// The quiet lookups of a page.
#[derive(Clone, Copy, Debug)]
struct QuietPage {
    page: PageNumber,
    /// The epoch; 0 if the slot is empty.
    epoch: u32,
    tag: u16,
    /// A bit for each kind of reference.
    kinds: u8,
}

impl QuietPage {
    const NONE: Self = Self {
        page: PageNumber(0),
        epoch: 0,
        tag: 0,
        kinds: 0,
    };
}

impl Default for QuietLookups {
    fn default() -> Self {
        Self {
            slots: Box::new([QuietPage::NONE; SLOTS]),
            epoch: 1,
            forgotten: 0,
        }
    }
}

impl QuietLookups {
    #[inline]
    const fn slot(page: PageNumber) -> usize {
        let block = page.0 / NEIGHBOURS;
        let spread = block ^ block >> 6 ^ block >> 15;
        (spread * NEIGHBOURS + page.0 % NEIGHBOURS) as usize % SLOTS
    }

    /// Returns true if the lookup hits the first level and changes nothing.
    #[inline]
    pub(crate) fn has(&self, request: &TlbRequest) -> bool {
        let known = &self.slots[Self::slot(request.page)];
        known.page == request.page
            && known.epoch == self.epoch
            && known.tag == request.tag.number()
            && known.kinds >> request.kind as u8 & 1 != 0
    }

    /// The number of requests at the beginning of `requests` that hit the first level and change
    /// nothing.
    #[inline]
    pub(crate) fn first_of(&self, requests: impl Iterator<Item = TlbRequest>) -> usize {
        requests.take_while(|request| self.has(request)).count()
    }

    /// Notes that the lookup is quiet from now on.
    #[inline]
    pub(crate) fn learn(&mut self, request: &TlbRequest) {
        let kind = 1 << request.kind as u8;
        let (page, tag, epoch) = (request.page, request.tag.number(), self.epoch);
        let known = &mut self.slots[Self::slot(page)];
        let is_same = known.page == page && known.tag == tag && known.epoch == epoch;
        let kinds = kind | if is_same { known.kinds } else { 0 };
        *known = QuietPage {
            page,
            epoch,
            tag,
            kinds,
        };
    }

    /// Forgets the pages from one to another, which is excluded, of every space.
    pub(crate) fn forget(&mut self, (first, after): (u64, u64)) {
        if after.saturating_sub(first) > MOST_FORGOTTEN {
            return self.forget_all();
        }
        for page in first..after {
            let known = &mut self.slots[Self::slot(PageNumber(page))];
            if known.epoch == self.epoch && known.page.0 == page {
                *known = QuietPage::NONE;
                self.forgotten += 1;
            }
        }
    }

    /// A number that changes whenever a lookup that was quiet may be so no more.
    #[inline]
    pub(crate) const fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Forgets all pages.
    pub(crate) fn forget_all(&mut self) {
        self.forgotten += 1;
        self.epoch = self.epoch.wrapping_add(1);
        if self.epoch == 0 {
            self.slots.fill(QuietPage::NONE);
            self.epoch = 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReferenceKind;
    use broadleaf_units::Asid;

    fn load(page: u64) -> TlbRequest {
        TlbRequest::load(Asid::ZERO, PageNumber(page))
    }

    #[test]
    fn a_lookup_is_known_by_page_space_and_kind() {
        let mut quiet = QuietLookups::default();
        assert!(!quiet.has(&load(0)));
        quiet.learn(&load(5));
        let store = TlbRequest {
            kind: ReferenceKind::Store,
            ..load(5)
        };
        let elsewhere = TlbRequest {
            tag: Asid::new(1).unwrap_or_default(),
            ..load(5)
        };
        assert!(quiet.has(&load(5)) && !quiet.has(&load(5 + SLOTS as u64)));
        assert!(!quiet.has(&store) && !quiet.has(&elsewhere));
        quiet.learn(&store);
        assert!(quiet.has(&store) && quiet.has(&load(5)));
        quiet.learn(&elsewhere);
        assert!(quiet.has(&elsewhere) && !quiet.has(&load(5)) && !quiet.has(&store));
    }

    #[test]
    fn pages_are_forgotten_by_run_and_all_at_once() {
        let mut quiet = QuietLookups::default();
        (0..64).for_each(|page| quiet.learn(&load(page)));
        quiet.forget((16, 32));
        (0..64).for_each(|page| assert_eq!(quiet.has(&load(page)), !(16..32).contains(&page)));
        quiet.forget((0, 1 << 40));
        assert!((0..64).all(|page| !quiet.has(&load(page))));
        quiet.learn(&load(1));
        quiet.epoch = u32::MAX;
        quiet.forget_all();
        assert!(!quiet.has(&load(1)), "a slot of the first epoch came back");
    }
}
