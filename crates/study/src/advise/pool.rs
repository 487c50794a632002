//! A pool that places mappings first-fit.

use std::collections::BTreeMap;
use std::ops::Range;

/// The places of addresses in the pool: by the first address, the address after the last, and the
/// place of the first.
type PoolPlaces = BTreeMap<u64, (u64, u64)>;

/// A pool without a limit of its length.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    /// The free ranges: by the first byte, the byte after the last.
    free: BTreeMap<u64, u64>,
    now: PoolPlaces,
    /// The last place of each address, including unmapped addresses.
    last: PoolPlaces,
    furthest: u64,
}

impl Default for Pool {
    fn default() -> Self {
        Self {
            free: [(0, u64::MAX)].into(),
            now: PoolPlaces::new(),
            last: PoolPlaces::new(),
            furthest: 0,
        }
    }
}

impl Pool {
    /// The byte after the last byte ever used.
    pub(super) const fn furthest(&self) -> u64 {
        self.furthest
    }

    /// Maps addresses, in place of any old mapping of these addresses.
    pub(super) fn map(&mut self, start: u64, len: u64) {
        self.unmap(start, len);
        let end = start.saturating_add(len);
        if let Some(place) = self.take(end - start) {
            self.put(start, end, place);
        }
    }

    /// Unmaps addresses.
    pub(super) fn unmap(&mut self, start: u64, len: u64) {
        for (start, end, place) in cut(&mut self.now, start, start.saturating_add(len)) {
            self.give_back(place, place + (end - start));
        }
    }

    /// Moves, grows or shrinks a mapping. Unless the mapping shrinks in place, it gets a new place
    /// before its old place is free.
    pub(super) fn remap(&mut self, (from, from_len): (u64, u64), (to, len): (u64, u64)) {
        if to == from && len <= from_len {
            self.unmap(to.saturating_add(len), from_len - len);
            return;
        }
        let end = from.saturating_add(from_len);
        let old = cut(&mut self.now, from, end);
        if old.is_empty() {
            return;
        }
        let place = self.take(len);
        for (start, end, place) in old {
            self.give_back(place, place + (end - start));
        }
        self.unmap(to, len);
        if let Some(place) = place {
            self.put(to, to.saturating_add(len), place);
        }
    }

    /// The last places of these addresses, in order of the addresses; `None` if some never had a
    /// place.
    pub(super) fn parts(&self, start: u64, end: u64) -> Option<Vec<Range<u64>>> {
        let mut last = self.last.clone();
        let mut at = start;
        let mut parts: Vec<Range<u64>> = Vec::new();
        for (from, to, place) in cut(&mut last, start, end) {
            if from != at {
                return None;
            }
            at = to;
            let part = place..place + (to - from);
            match parts.last_mut() {
                Some(before) if before.end == part.start => before.end = part.end,
                _ => parts.push(part),
            }
        }
        (at == end).then_some(parts)
    }

    fn put(&mut self, start: u64, end: u64, place: u64) {
        cut(&mut self.last, start, end);
        self.now.insert(start, (end, place));
        self.last.insert(start, (end, place));
    }

    /// Takes the first free range that is long enough.
    fn take(&mut self, len: u64) -> Option<u64> {
        let (start, end) = (self.free.iter())
            .map(|(start, end)| (*start, *end))
            .find(|(start, end)| len > 0 && end - start >= len)?;
        self.free.remove(&start);
        let rest = start + len;
        if rest < end {
            self.free.insert(rest, end);
        }
        self.furthest = self.furthest.max(rest);
        Some(start)
    }

    fn give_back(&mut self, mut start: u64, mut end: u64) {
        if let Some((before, to)) = self.free.range(..=start).next_back()
            && *to == start
        {
            start = *before;
        }
        if let Some(after) = self.free.remove(&end) {
            end = after;
        }
        self.free.insert(start, end);
    }
}

/// Removes addresses, and returns their places: the first address, the address after the last, and
/// the place of the first.
fn cut(places: &mut PoolPlaces, start: u64, end: u64) -> Vec<(u64, u64, u64)> {
    let before = places.range(..start).next_back();
    let first = before.filter(|(_, (to, _))| *to > start);
    let first = first.map_or(start, |(from, _)| *from);
    let met: Vec<(u64, u64, u64)> = (places.range(first..end.max(first)))
        .map(|(from, (to, place))| (*from, *to, *place))
        .collect();
    let mut taken = Vec::new();
    for (from, to, place) in met {
        places.remove(&from);
        if from < start {
            places.insert(from, (start, place));
        }
        if to > end {
            places.insert(end, (to, place + (end - from)));
        }
        let (low, high) = (from.max(start), to.min(end));
        taken.push((low, high, place + (low - from)));
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(pool: &Pool, start: u64, end: u64) -> Option<Vec<(u64, u64)>> {
        let parts = pool.parts(start, end)?.into_iter();
        Some(parts.map(|part| (part.start, part.end)).collect())
    }

    #[test]
    fn mappings_take_the_first_place_that_is_long_enough() {
        let mut pool = Pool::default();
        pool.map(1000, 30);
        pool.map(2000, 10);
        pool.map(3000, 20);
        assert_eq!(places(&pool, 2000, 2010), Some(vec![(30, 40)]));
        pool.unmap(1000, 30);
        pool.map(4000, 10);
        pool.map(5000, 20);
        pool.map(6000, 5);
        assert_eq!(places(&pool, 4000, 4010), Some(vec![(0, 10)]));
        assert_eq!(places(&pool, 5000, 5020), Some(vec![(10, 30)]));
        assert_eq!(places(&pool, 6000, 6005), Some(vec![(60, 65)]));
        // Unmapped addresses keep their last places.
        assert_eq!(places(&pool, 1000, 1030), Some(vec![(0, 30)]));
        assert_eq!(pool.furthest(), 65);
    }

    #[test]
    fn neighbours_in_memory_may_be_apart_in_the_pool() {
        let mut pool = Pool::default();
        pool.map(1010, 10);
        pool.map(1000, 10);
        pool.map(1020, 10);
        assert_eq!(
            places(&pool, 1000, 1030),
            Some(vec![(10, 20), (0, 10), (20, 30)])
        );
        assert_eq!(places(&pool, 1015, 1025), Some(vec![(5, 10), (20, 25)]));
        assert_eq!(places(&pool, 1020, 1031), None);
        assert_eq!(places(&pool, 999, 1030), None);
        pool.unmap(1012, 3);
        pool.map(1012, 3);
        assert_eq!(places(&pool, 1010, 1020), Some(vec![(0, 10)]));
    }

    #[test]
    fn moved_mappings_get_new_places_and_shrunk_ones_stay() {
        let mut pool = Pool::default();
        pool.map(1000, 10);
        pool.map(2000, 10);
        pool.remap((1000, 10), (3000, 30));
        assert_eq!(places(&pool, 3000, 3030), Some(vec![(20, 50)]));
        pool.map(4000, 10);
        assert_eq!(places(&pool, 4000, 4010), Some(vec![(0, 10)]));
        pool.remap((3000, 30), (3000, 5));
        assert_eq!(places(&pool, 3000, 3005), Some(vec![(20, 25)]));
        pool.map(5000, 25);
        assert_eq!(places(&pool, 5000, 5025), Some(vec![(25, 50)]));
        // A mapping outside the pool does not enter it.
        pool.remap((9000, 10), (9500, 20));
        assert_eq!(places(&pool, 9500, 9520), None);
    }

    #[test]
    fn freed_places_merge() {
        let mut pool = Pool::default();
        for number in 0..50 {
            pool.map(1000 * (number + 1), 7 + number % 5);
        }
        for number in (0..50).rev().step_by(2).chain((0..50).step_by(2)) {
            pool.unmap(1000 * (number + 1), 20);
        }
        assert_eq!(pool.free, [(0, u64::MAX)].into());
        assert!(pool.now.is_empty());
    }
}
