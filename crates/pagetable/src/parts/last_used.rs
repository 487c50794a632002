//! The keys that were used last: a small cache with exact LRU replacement.

use std::collections::VecDeque;

/// A set of a fixed number of keys. A new key takes the place of the one used longest ago.
#[derive(Clone, Debug)]
pub(crate) struct LastUsed<K> {
    /// The key used last at the end.
    keys: VecDeque<K>,
    most: usize,
}

impl<K: Copy + PartialEq> LastUsed<K> {
    /// An empty set of at most that many keys.
    pub(crate) const fn new(most: usize) -> Self {
        Self {
            keys: VecDeque::new(),
            most,
        }
    }

    /// Uses a key. Returns true if the set held it; otherwise the set holds it now.
    pub(crate) fn uses(&mut self, key: K) -> bool {
        // The order stays.
        if self.keys.back() == Some(&key) {
            return true;
        }
        let found = self.finds(|known| *known == key).is_some();
        if !found {
            self.add(key);
        }
        found
    }

    /// Uses the first key for which `wanted` returns true.
    pub(crate) fn finds(&mut self, wanted: impl FnMut(&K) -> bool) -> Option<K> {
        let place = self.keys.iter().position(wanted)?;
        let key = self.keys.remove(place)?;
        self.keys.push_back(key);
        Some(key)
    }

    /// Adds a key that the set does not hold.
    pub(crate) fn add(&mut self, key: K) {
        if self.keys.len() == self.most {
            self.keys.pop_front();
        }
        if self.most > 0 {
            self.keys.push_back(key);
        }
    }

    /// Keeps the keys for which `stays` returns true.
    pub(crate) fn retain(&mut self, stays: impl FnMut(&K) -> bool) {
        self.keys.retain(stays);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_used_longest_ago_leaves() {
        let mut keys = LastUsed::new(2);
        assert!(!keys.uses(1) && !keys.uses(2) && keys.uses(1));
        assert!(!keys.uses(3), "2 leaves");
        assert!(keys.uses(1) && !keys.uses(2));
        keys.retain(|key| *key != 2);
        assert!(!keys.uses(2));
        let mut none = LastUsed::new(0);
        assert!(!none.uses(1) && !none.uses(1));
    }
}
