//! The values of one walk, in order, with a fast answer to the question if a value is there.

use crate::TableRead;

/// The most values that a search compares one by one.
const FEW: usize = 12;

/// A value whose bits can be spread.
pub(crate) trait Spread: Copy + Eq {
    /// A number that differs between most values.
    fn number(&self) -> u64;
}

impl Spread for u64 {
    fn number(&self) -> u64 {
        *self
    }
}

impl Spread for TableRead {
    fn number(&self) -> u64 {
        self.address
    }
}

/// Values in the order in which they were added. A walk that preloads a block adds a hundred.
#[derive(Clone, Debug)]
pub(crate) struct SeenValues<T> {
    values: Vec<T>,
    /// The places of the values by their numbers, each with the walk that entered it.
    slots: Vec<(u32, u32)>,
    /// The number of the walk. Slots of other walks are free.
    walk: u32,
}

impl<T: Spread> SeenValues<T> {
    pub(crate) const fn new() -> Self {
        Self {
            values: Vec::new(),
            slots: Vec::new(),
            walk: 1,
        }
    }

    pub(crate) fn values(&self) -> &[T] {
        &self.values
    }

    /// Forgets all values.
    pub(crate) fn clear(&mut self) {
        if self.values.len() > FEW {
            self.walk = self.walk.wrapping_add(1);
            if self.walk == 0 {
                self.slots.fill((0, 0));
                self.walk = 1;
            }
        }
        self.values.clear();
    }

    pub(crate) fn has(&self, value: &T) -> bool {
        match self.values.len() <= FEW {
            true => self.values.contains(value),
            false => self.search(value).is_ok(),
        }
    }

    pub(crate) fn push(&mut self, value: T) {
        self.values.push(value);
        let len = self.values.len();
        if len <= FEW {
            return;
        }
        let is_full = 2 * len > self.slots.len();
        if is_full {
            self.slots = vec![(0, 0); (4 * len).next_power_of_two()];
        }
        let from = if is_full || len == FEW + 1 {
            0
        } else {
            len - 1
        };
        for at in from..len {
            if let Err(free) = self.search(&self.values[at]) {
                self.slots[free] = (self.walk, at as u32);
            }
        }
    }

    /// The slot of a value, or the free slot where it would be.
    fn search(&self, value: &T) -> Result<usize, usize> {
        // The multiplier of SplitMix64's sequence spreads neighbours.
        let spread = value.number().wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut slot = (spread >> (u64::BITS - self.slots.len().ilog2())) as usize;
        loop {
            let (walk, at) = self.slots[slot];
            if walk != self.walk {
                return Err(slot);
            }
            if self.values[at as usize] == *value {
                return Ok(slot);
            }
            slot = (slot + 1) % self.slots.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of few and of many, walk after walk, against a search of the list.
    #[test]
    fn values_are_found_as_by_a_search() {
        let mut seen = SeenValues::new();
        let mut next = 1_u64;
        for walk in 0..200 {
            for _ in 0..(walk * 7) % 90 {
                next = next.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let value = (next >> 33) % 64;
                assert_eq!(seen.has(&value), seen.values().contains(&value));
                seen.push(value);
                assert!(seen.has(&value) && seen.has(&seen.values()[0]));
            }
            seen.clear();
            assert!((0..64).all(|value| !seen.has(&value)));
        }
        seen.walk = u32::MAX;
        (0..20).for_each(|value| seen.push(value));
        seen.clear();
        assert_eq!(seen.walk, 1);
        (20..40).for_each(|value| seen.push(value));
        assert!(!seen.has(&3) && seen.has(&33));
    }
}
