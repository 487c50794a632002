//! Lookups and fills that report the evicted translations.

use super::{Packed, PackedEntry, Probe, SIZE_BITS, Sized, page_of, tag_of};
use crate::{Evicted, Lookup};
use broadleaf_units::{Asid, PageNumber, PageSize};

impl Probe {
    /// The last entry of a page's set, which the next insertion evicts. 0 if there is none.
    #[inline]
    fn oldest(&self, entries: &mut [PackedEntry], page: PageNumber) -> PackedEntry {
        self.set(entries, page).last().copied().unwrap_or(0)
    }
}

impl Packed {
    /// Looks up as [`lookup`](Self::lookup) does. A hit in the second level alone is copied to the
    /// first. `evicted` receives a translation that this pushes out of the first level and that the
    /// second level does not hold.
    pub fn lookup_evicting(
        &mut self,
        tag: Asid,
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

    /// Fills as [`fill`](Self::fill) does. `evicted` receives the translations that no level holds
    /// any more.
    pub fn fill_evicting(
        &mut self,
        tag: Asid,
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

    /// Reports the entries evicted at either level that the other level does not hold. 0 is no
    /// entry.
    #[inline]
    fn tell_lost(
        &mut self,
        first: PackedEntry,
        second: PackedEntry,
        mut evicted: impl FnMut(Evicted),
    ) {
        if first != 0 && !self.holds(first, |sized| sized.second) {
            evicted(self.evicted(first));
        }
        if second != 0 && second != first && !self.holds(second, |sized| Some(sized.first)) {
            evicted(self.evicted(second));
        }
    }

    fn sized_of(&self, entry: PackedEntry) -> Option<&Sized> {
        let code = entry & ((1 << SIZE_BITS) - 1);
        self.sizes.iter().find(|sized| sized.first.code == code)
    }

    /// Returns true if the level of the probe holds an entry.
    fn holds(&mut self, entry: PackedEntry, probe: impl Fn(&Sized) -> Option<Probe>) -> bool {
        match self.sized_of(entry).and_then(probe) {
            Some(probe) => {
                let set = probe.set(&mut self.entries, PageNumber(page_of(entry)));
                set.contains(&entry)
            }
            None => false,
        }
    }

    fn evicted(&self, entry: PackedEntry) -> Evicted {
        let sized = self.sized_of(entry);
        Evicted {
            tag: tag_of(entry),
            page: PageNumber(page_of(entry)),
            size: sized.map_or(PageSize::SIZE_4K, |sized| sized.size),
        }
    }
}
