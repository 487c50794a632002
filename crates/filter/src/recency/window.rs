//! The last pages that were looked up, for TLBs in which they stay.

use broadleaf_units::PageNumber;

/// The most pages of a window.
const MOST: usize = 64;
/// The number of hints to the slots of pages. A power of two.
const HINTS: usize = 512;
/// No page, and no slot.
const NO_PAGE: u64 = u64::MAX;
const NO_SLOT: u8 = u8::MAX;

/// The last pages that were looked up, as many as stay in each TLB of the designs
/// ([`broadleaf_tlb::Design::last_pages`]).
///
/// A lookup of one of these pages hits, and changes nothing but the order of last use. So the
/// filter defers the lookup until one is made that may load an entry: that of a page outside the
/// window. Then each deferred page is looked up once, in the order of last use. Pages whose order
/// is that of their earlier lookups need none.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    /// The number of pages that stay.
    capacity: usize,
    /// True if a TLB holds larger pages too.
    pub(super) has_larger: bool,
    /// By slot: true if a lookup of a store was made since the page came in.
    stored: [bool; MOST],
    /// By slot: the page.
    pages: [u64; MOST],
    /// By slot: the slot of the page that was used next, and of the one that was used before.
    newer: [u8; MOST],
    older: [u8; MOST],
    /// By slot: the time of the page's last lookup that was made.
    made: [u64; MOST],
    /// By slot: true if a later lookup of the page is deferred. These pages are the newest ones.
    deferred: [bool; MOST],
    used: usize,
    newest: u8,
    oldest: u8,
    /// The probable slots of pages.
    hints: Box<[u8; HINTS]>,
    /// The number of lookups that were made.
    clock: u64,
}

impl Window {
    /// The number of pages that stay.
    pub(super) const fn capacity(&self) -> usize {
        self.capacity
    }

    /// An empty window of that many pages, at least one.
    pub(crate) fn new(capacity: usize, has_larger: bool) -> Self {
        Self {
            capacity: capacity.clamp(1, MOST),
            has_larger,
            stored: [false; MOST],
            pages: [NO_PAGE; MOST],
            newer: [NO_SLOT; MOST],
            older: [NO_SLOT; MOST],
            made: [0; MOST],
            deferred: [false; MOST],
            used: 0,
            newest: NO_SLOT,
            oldest: NO_SLOT,
            hints: Box::new([0; HINTS]),
            clock: 0,
        }
    }

    /// Defers the lookup of a page of the window. Returns false if the page is not there, or
    /// `stores` is true and no store to the page was looked up.
    #[inline]
    pub(crate) fn defer(&mut self, page: PageNumber, stores: bool) -> bool {
        let Some(slot) = self.find(page.0) else {
            return false;
        };
        if stores && !self.stored[usize::from(slot)] {
            return false;
        }
        self.renew(slot);
        self.deferred[usize::from(slot)] = true;
        true
    }

    /// Notes a lookup that is made, of a store if `stores` is true. `look_up` receives deferred
    /// pages that are looked up first.
    pub(crate) fn make(
        &mut self,
        page: PageNumber,
        stores: bool,
        look_up: &mut impl FnMut(PageNumber),
    ) {
        self.catch_up(look_up);
        let slot = match self.find(page.0) {
            Some(slot) => {
                self.renew(slot);
                slot
            }
            None => self.enter(page.0),
        };
        self.stored[usize::from(slot)] |= stores;
        self.note_made(slot);
    }

    /// Makes the deferred lookups that change an order, the earliest first.
    pub(crate) fn catch_up(&mut self, look_up: &mut impl FnMut(PageNumber)) {
        let mut slots = [NO_SLOT; MOST];
        let mut count = 0;
        let mut slot = self.newest;
        while slot != NO_SLOT && std::mem::take(&mut self.deferred[usize::from(slot)]) {
            slots[count] = slot;
            count += 1;
            slot = self.older[usize::from(slot)];
        }
        // The rest has the order of its lookups. So has the oldest part of these pages.
        let mut floor = self.made.get(usize::from(slot)).copied().unwrap_or(0);
        while let Some(last) = count.checked_sub(1) {
            let made = self.made[usize::from(slots[last])];
            if made <= floor {
                break;
            }
            floor = made;
            count = last;
        }
        for &slot in slots[..count].iter().rev() {
            self.note_made(slot);
            look_up(PageNumber(self.pages[usize::from(slot)]));
        }
    }

    /// Removes all pages. No lookup is deferred.
    pub(crate) fn forget(&mut self) {
        debug_assert!(
            self.newest == NO_SLOT || !self.deferred[usize::from(self.newest)],
            "a deferred lookup was not made"
        );
        self.pages[..self.used].fill(NO_PAGE);
        self.used = 0;
        (self.newest, self.oldest) = (NO_SLOT, NO_SLOT);
    }

    #[inline]
    fn find(&mut self, page: u64) -> Option<u8> {
        let hint = hint_of(page);
        let slot = self.hints[hint];
        if self.pages[usize::from(slot) % MOST] == page {
            return Some(slot);
        }
        let found = self.pages[..self.used]
            .iter()
            .position(|known| *known == page)?;
        self.hints[hint] = found as u8;
        Some(found as u8)
    }

    /// Makes a page the newest.
    #[inline]
    fn renew(&mut self, slot: u8) {
        if self.newest != slot {
            self.unlink(slot);
            self.link(slot);
        }
    }

    /// Puts a page in as the newest, perhaps in the place of the oldest.
    fn enter(&mut self, page: u64) -> u8 {
        let slot = if self.used < self.capacity {
            self.used += 1;
            (self.used - 1) as u8
        } else {
            let oldest = self.oldest;
            self.unlink(oldest);
            oldest
        };
        self.pages[usize::from(slot)] = page;
        self.deferred[usize::from(slot)] = false;
        self.stored[usize::from(slot)] = false;
        self.hints[hint_of(page)] = slot;
        self.link(slot);
        slot
    }

    fn link(&mut self, slot: u8) {
        self.newer[usize::from(slot)] = NO_SLOT;
        self.older[usize::from(slot)] = self.newest;
        match self.newest {
            NO_SLOT => self.oldest = slot,
            newest => self.newer[usize::from(newest)] = slot,
        }
        self.newest = slot;
    }

    fn unlink(&mut self, slot: u8) {
        let (newer, older) = (self.newer[usize::from(slot)], self.older[usize::from(slot)]);
        match newer {
            NO_SLOT => self.newest = older,
            newer => self.older[usize::from(newer)] = older,
        }
        match older {
            NO_SLOT => self.oldest = newer,
            older => self.newer[usize::from(older)] = newer,
        }
    }

    fn note_made(&mut self, slot: u8) {
        self.clock += 1;
        self.made[usize::from(slot)] = self.clock;
    }
}

/// The place of a page's hint. Pages in a row have hints of their own.
const fn hint_of(page: u64) -> usize {
    (page ^ page >> 9) as usize % HINTS
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_trace::synth::SplitMix64;

    /// An LRU list of pages, the newest first.
    fn used(list: &mut Vec<u64>, page: u64, most: usize) -> bool {
        let found = list.iter().position(|known| *known == page);
        found.map(|at| list.remove(at));
        list.insert(0, page);
        list.truncate(most);
        found.is_some()
    }

    /// Lists of at least the window's length have the same misses in the same order, whether they
    /// see all lookups or those that the window makes.
    #[test]
    fn longer_lists_miss_as_they_do_with_all_lookups() {
        for seed in 0..400 {
            let mut random = SplitMix64::new(seed);
            let capacity = 1 + random.below(12) as usize;
            let longer = capacity + random.below(5) as usize;
            let mut window = Window::new(capacity, false);
            let (mut whole, mut filtered) = (Vec::new(), Vec::new());
            let (mut misses, mut made_misses) = (Vec::new(), Vec::new());
            let (mut deferred, pages) = (0, 2 + random.below(20));
            for _ in 0..2_000 {
                if random.below(300) == 0 {
                    let look_up = |page: PageNumber| assert!(used(&mut filtered, page.0, longer));
                    window.catch_up(&mut { look_up });
                    assert_eq!(filtered, whole);
                    window.forget();
                    whole.clear();
                    filtered.clear();
                }
                // Every other page is among the nearest ones.
                let page = random.below(pages) >> random.below(3);
                if !used(&mut whole, page, longer) {
                    misses.push(page);
                }
                if window.defer(PageNumber(page), false) {
                    deferred += 1;
                } else {
                    let look_up = |page: PageNumber| assert!(used(&mut filtered, page.0, longer));
                    window.make(PageNumber(page), false, &mut { look_up });
                    if !used(&mut filtered, page, longer) {
                        made_misses.push(page);
                    }
                    assert_eq!(filtered, whole);
                }
            }
            let look_up = |page: PageNumber| assert!(used(&mut filtered, page.0, longer));
            window.catch_up(&mut { look_up });
            assert_eq!((filtered, made_misses), (whole, misses), "seed {seed}");
            assert!(deferred > 0 || capacity == 1);
        }
    }

    #[test]
    fn pages_in_the_order_of_their_lookups_need_none() {
        let mut window = Window::new(4, false);
        let mut made = Vec::new();
        for page in [1, 2, 3] {
            window.make(PageNumber(page), false, &mut |page| made.push(page.0));
        }
        for page in [2, 3, 2, 3] {
            assert!(window.defer(PageNumber(page), false));
        }
        window.make(PageNumber(4), false, &mut |page| made.push(page.0));
        assert_eq!(made, []);
        // Page 3 stays where it was, above 2. Page 1 moves, and 4 has to move above it.
        for page in [3, 1, 4] {
            assert!(window.defer(PageNumber(page), false));
        }
        window.make(PageNumber(5), false, &mut |page| made.push(page.0));
        assert_eq!(made, [1, 4]);
    }
}
