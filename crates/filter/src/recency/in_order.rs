//! A small sorter: at most `MOST` places in the order of their times.

use super::{PLACES, RecencyPlace};

/// At most `MOST` distinct places to sort.
pub(super) struct InOrder<const MOST: usize> {
    /// The time and the place of each in one number, which compares fastest. Unused slots hold the
    /// maximum.
    times: [u64; MOST],
    count: usize,
}

impl<const MOST: usize> InOrder<MOST> {
    #[inline]
    pub(super) const fn new() -> Self {
        Self {
            times: [u64::MAX; MOST],
            count: 0,
        }
    }

    #[inline]
    pub(super) const fn add(&mut self, time: u64, place: RecencyPlace) {
        self.times[self.count] = time * PLACES as u64 + place.index() as u64;
        self.count += 1;
    }

    /// Returns all places, the earliest first.
    #[inline]
    pub(super) fn sorted(&mut self) -> impl Iterator<Item = RecencyPlace> {
        let times = &mut self.times[..];
        // Unpredictable branches cost more than all comparisons.
        if let Some(times) = times.as_mut_array() {
            put_eight_in_order(times);
        } else {
            times[..self.count].sort_unstable();
        }
        let times = self.times[..self.count].iter();
        times.map(|time| RecencyPlace::from_index(*time as usize))
    }
}

/// Batcher's merging network (Knuth, The Art of Computer Programming, volume 3, section 5.3.4).
#[inline]
fn put_eight_in_order(times: &mut [u64; 8]) {
    let mut put = |lower: usize, upper: usize| {
        let (one, other) = (times[lower], times[upper]);
        (times[lower], times[upper]) = (one.min(other), one.max(other));
    };
    for first in [0, 4] {
        put(first, first + 1);
        put(first + 2, first + 3);
        put(first, first + 2);
        put(first + 1, first + 3);
        put(first + 1, first + 2);
    }
    (0..4).for_each(|at| put(at, at + 4));
    put(2, 4);
    put(3, 5);
    (1..6).step_by(2).for_each(|at| put(at, at + 1));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A network that sorts every list of two distinct numbers sorts every list (0-1 principle).
    #[test]
    fn eight_are_put_in_order() {
        for bits in 0..1u32 << 8 {
            let mut times = std::array::from_fn(|at| u64::from(bits >> at & 1));
            put_eight_in_order(&mut times);
            assert!(times.is_sorted(), "{bits:b}");
        }
    }

    fn put_in_order<const MOST: usize>(count: usize) {
        let mut order = InOrder::<MOST>::new();
        for index in 0..count {
            let time = (index * 37 % PLACES) as u64;
            order.add(time, RecencyPlace::from_index(index));
        }
        let mut right: Vec<usize> = (0..count).collect();
        right.sort_by_key(|index| index * 37 % PLACES);
        let sorted: Vec<usize> = order.sorted().map(RecencyPlace::index).collect();
        assert_eq!(sorted, right);
    }

    #[test]
    fn places_come_in_the_order_of_their_times() {
        (0..=8).for_each(put_in_order::<8>);
        (0..=PLACES).for_each(put_in_order::<PLACES>);
    }
}
