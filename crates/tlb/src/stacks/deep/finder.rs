//! A hash table from entries to nodes.

use crate::stacks::names::Name;

/// An open-addressing table from names to nodes, at most half full.
#[derive(Clone, Debug)]
pub(super) struct Finder {
    /// Names and their nodes; without a name the slot is empty.
    slots: Vec<(Option<Name>, u16)>,
}

impl Finder {
    /// A table with room for `most` entries.
    pub(super) fn new(most: usize) -> Self {
        Self {
            slots: vec![(None, 0); (2 * most).next_power_of_two()],
        }
    }

    /// The slot at which the search for a name begins. Fibonacci hashing (Knuth, The Art of
    /// Computer Programming, volume 3, section 6.4).
    #[inline]
    fn home(&self, name: Name) -> usize {
        let hash = name.bits().wrapping_mul(0x9e37_79b9);
        (hash >> (u32::BITS - self.slots.len().trailing_zeros())) as usize
    }

    const fn next(&self, slot: usize) -> usize {
        (slot + 1) & (self.slots.len() - 1)
    }

    /// The slot of a name, or the empty one where the search for it ends.
    #[inline]
    fn slot(&self, name: Name) -> usize {
        let mut slot = self.home(name);
        while let (Some(other), _) = self.slots[slot]
            && other != name
        {
            slot = self.next(slot);
        }
        slot
    }

    /// The node of that name.
    pub(super) fn find(&self, name: Name) -> Option<u16> {
        let (found, node) = self.slots[self.slot(name)];
        found.map(|_| node)
    }

    /// Adds a name that is not there.
    #[inline]
    pub(super) fn add(&mut self, name: Name, node: u16) {
        let slot = self.slot(name);
        self.slots[slot] = (Some(name), node);
    }

    /// Removes a name and returns its node.
    #[inline]
    pub(super) fn take(&mut self, name: Name) -> Option<u16> {
        let mut empty = self.slot(name);
        let (found, node) = self.slots[empty];
        found?;
        // Later entries that were searched for through this slot move up, so that no search ends
        // too early (Knuth, section 6.4, algorithm R).
        let mask = self.slots.len() - 1;
        let mut slot = self.next(empty);
        while let (Some(other), _) = self.slots[slot] {
            let from_home = slot.wrapping_sub(self.home(other)) & mask;
            let from_empty = slot.wrapping_sub(empty) & mask;
            if from_home >= from_empty {
                self.slots[empty] = self.slots[slot];
                empty = slot;
            }
            slot = self.next(slot);
        }
        self.slots[empty] = (None, 0);
        Some(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn it_finds_what_an_ordered_map_finds() {
        let mut finder = Finder::new(32);
        let mut map: BTreeMap<u32, u16> = BTreeMap::new();
        let mut random = 88_172_645_463_325_252u64;
        for step in 0..50_000u64 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let bits = 1 + (random >> 20) as u32 % 60;
            let name = Name::from_bits(bits).unwrap();
            assert_eq!(finder.find(name), map.get(&bits).copied());
            if map.contains_key(&bits) {
                assert_eq!(finder.take(name), map.remove(&bits));
            } else if map.len() < 32 {
                assert_eq!(finder.take(name), None);
                let node = step as u16;
                finder.add(name, node);
                map.insert(bits, node);
            }
        }
    }
}
