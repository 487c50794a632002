//! Lookups and fills that tell what the TLB lost by them.

use super::{Entry, Packed, Probe, SIZE_BITS, Sized, page_of, tag_of};
use crate::{Evicted, Lookup};
use broadleaf_units::{PageNumber, PageSize, SpaceTag};

impl Probe {
    /// What stands last in a page's set, and goes at the next insertion; 0 where that is nothing.
    #[inline]
    fn oldest(&self, entries: &mut [Entry], page: PageNumber) -> Entry {
        self.set(entries, page).last().copied().unwrap_or(0)
    }
}

impl Packed {
    /// Does what [`lookup`](Self::lookup) does. What is found in the second level alone is copied
    /// to the first; a translation that gives way there and is not in the second level is told.
    pub fn lookup_evicting(
        &mut self,
        tag: SpaceTag,
        page: PageNumber,
        evicted: impl FnMut(Evicted),
    ) -> Lookup {
        for sized in &self.filled {
            if sized.first.find(&mut self.entries, tag, page) {
                return Lookup::First;
            }
        }
        for sized in &self.filled {
            if let Some(second) = sized.second
                && second.find(&mut self.entries, tag, page)
            {
                let oldest = sized.first.oldest(&mut self.entries, page);
                sized.first.insert(&mut self.entries, tag, page);
                self.tell_lost(oldest, 0, evicted);
                return Lookup::Second;
            }
        }
        Lookup::Miss
    }

    /// Does what [`fill`](Self::fill) does, and tells which translations no level holds any more.
    pub fn fill_evicting(
        &mut self,
        tag: SpaceTag,
        page: PageNumber,
        size: PageSize,
        evicted: impl FnMut(Evicted),
    ) {
        let Some(sized) = self.sizes.iter().find(|sized| sized.size == size) else {
            return;
        };
        let first = sized.first.oldest(&mut self.entries, page);
        let second = match &sized.second {
            Some(second) => second.oldest(&mut self.entries, page),
            None => 0,
        };
        self.fill(tag, page, size);
        self.tell_lost(first, second, evicted);
    }

    /// Tells what gave way at either level and is not at the other; 0 is nothing.
    #[inline]
    fn tell_lost(&mut self, first: Entry, second: Entry, mut evicted: impl FnMut(Evicted)) {
        if first != 0 && !self.holds(first, |sized| sized.second) {
            evicted(self.told(first));
        }
        if second != 0 && second != first && !self.holds(second, |sized| Some(sized.first)) {
            evicted(self.told(second));
        }
    }

    fn sized_of(&self, entry: Entry) -> Option<&Sized> {
        let code = entry & ((1 << SIZE_BITS) - 1);
        self.sizes.iter().find(|sized| sized.first.code == code)
    }

    /// Whether an entry is at the level of that probe of its size.
    fn holds(&mut self, entry: Entry, probe: impl Fn(&Sized) -> Option<Probe>) -> bool {
        match self.sized_of(entry).and_then(probe) {
            Some(probe) => {
                let set = probe.set(&mut self.entries, PageNumber(page_of(entry)));
                set.contains(&entry)
            }
            None => false,
        }
    }

    fn told(&self, entry: Entry) -> Evicted {
        let sized = self.sized_of(entry);
        Evicted {
            tag: tag_of(entry),
            page: PageNumber(page_of(entry)),
            size: sized.map_or(PageSize::SIZE_4K, |sized| sized.size),
        }
    }
}
