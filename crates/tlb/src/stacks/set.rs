//! The upper part of one list: the entries that 16 ways hold, newest first.

use super::names::Name;

/// The number of entries.
pub(super) const WAYS: usize = 16;

/// Entries in the order of their last use; 0 is a hole. One line of a cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Set([u32; WAYS]);

impl Set {
    pub(super) const EMPTY: Self = Self([0; WAYS]);

    /// The most recent entry, if it was not removed.
    #[inline]
    pub(super) fn newest(&self) -> Option<Name> {
        Name::from_bits(self.0[0])
    }

    /// Swaps the two newest entries.
    #[inline]
    pub(super) const fn turn(&mut self) {
        self.0.swap(0, 1);
    }

    /// Makes an entry the newest. Returns its former depth, [`WAYS`] if it was absent, and the
    /// entry that was pushed out.
    ///
    /// The search runs from the top, where most entries are found. A comparison of all entries and
    /// a branchless move take more time on recordings of programs, since the next reference to the
    /// set waits for them. The function is inlined, as it runs for several numbers of sets each
    /// time.
    #[inline(always)]
    pub(super) fn reference(&mut self, name: Name) -> (usize, Option<Name>) {
        let wanted = name.bits();
        let mut moving = wanted;
        for depth in 0..WAYS {
            std::mem::swap(&mut self.0[depth], &mut moving);
            if moving == wanted {
                return (depth, None);
            }
            if moving == 0 {
                return (self.leave_hole(wanted, depth + 1), None);
            }
        }
        (WAYS, Name::from_bits(moving))
    }

    /// Makes a hole of an entry found from a depth on. Returns the depth.
    fn leave_hole(&mut self, wanted: u32, from: usize) -> usize {
        let below = self.0[from..].iter().position(|entry| *entry == wanted);
        below.map_or(WAYS, |below| {
            self.0[from + below] = 0;
            from + below
        })
    }

    /// Makes a hole of an entry. Returns true if it was there.
    pub(super) fn remove(&mut self, name: Name) -> bool {
        let found = self.0.iter_mut().find(|entry| **entry == name.bits());
        let was_there = found.is_some();
        if let Some(entry) = found {
            *entry = 0;
        }
        was_there
    }

    /// The entries, newest first, with holes.
    pub(super) fn entries(&self) -> impl Iterator<Item = Option<Name>> + '_ {
        self.0.iter().map(|entry| Name::from_bits(*entry))
    }

    /// Replaces each entry by the result of `of`: another name, or a hole.
    pub(super) fn replace(&mut self, of: impl Fn(Name) -> Option<Name>) {
        for entry in &mut self.0 {
            if let Some(name) = Name::from_bits(*entry) {
                *entry = of(name).map_or(0, Name::bits);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(number: u32) -> Name {
        Name::from_bits(number).unwrap()
    }

    /// The cases of the proof in `mod.rs`: any depth of the entry and of the topmost hole.
    #[test]
    fn holes_stop_what_moves_down() {
        for depth in 0..=WAYS {
            for hole in 0..=WAYS {
                let mut set = Set::EMPTY;
                let mut list: Vec<u32> = (1..=WAYS as u32).collect();
                if hole < WAYS {
                    list[hole] = 0;
                }
                set.0.copy_from_slice(&list);
                let wanted = list.get(depth).copied().unwrap_or(99);
                if wanted == 0 {
                    continue;
                }
                let (found, lost) = set.reference(name(wanted));
                assert_eq!(found, depth);
                if hole < depth {
                    list.remove(hole);
                    if depth < WAYS {
                        list.insert(depth, 0);
                        list.remove(depth - 1);
                    }
                } else if depth < WAYS {
                    list.remove(depth);
                }
                list.insert(0, wanted);
                let expected = if list.len() > WAYS { list.pop() } else { None };
                assert_eq!(lost.map(Name::bits), expected, "{depth}, {hole}");
                assert_eq!(set.0[..], list, "{depth}, {hole}");
            }
        }
    }

    #[test]
    fn what_is_removed_leaves_its_place_empty() {
        let mut set = Set::EMPTY;
        (1..=3).for_each(|number| {
            set.reference(name(number));
        });
        assert!(set.remove(name(2)) && !set.remove(name(2)));
        assert_eq!(set.0[..4], [3, 0, 1, 0]);
        set.replace(|name| (name.bits() != 3).then_some(name));
        assert_eq!(set.newest(), None);
        assert_eq!(set.entries().flatten().collect::<Vec<_>>(), [name(1)]);
    }
}
