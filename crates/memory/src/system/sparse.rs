//! A table of 512 entries that stores only the entries that differ from a rule.

/// Entries of a table.
pub(crate) const ENTRIES: u64 = 512;
/// Entries of a group. A group is stored as a whole or not at all.
const GROUP: usize = 4;
const GROUPS: usize = ENTRIES as usize / GROUP;
const _: () = assert!(GROUPS == u128::BITS as usize);

/// An entry of a [`Sparse`] table.
pub(crate) trait SparseEntry: Copy + PartialEq {
    /// The empty entry.
    const NONE: Self;

    /// The entry that continues this one after `entries` entries. An entry without a frame and a
    /// place continues as itself.
    #[must_use]
    fn plus(self, entries: u64) -> Self;

    /// The entry that this one continues after `entries` entries; `None` if there is none.
    fn minus(self, entries: u64) -> Option<Self>;
}

/// A table of 512 entries.
///
/// The rule `rule.plus(n)` gives entry n of each group that is not stored. The rule of a new table
/// is [`SparseEntry::NONE`], so that one entry takes one group. [`Sparse::compact`] finds the rule
/// of a table that became a superpage, whose entries continue one another.
#[derive(Clone, Debug)]
pub(crate) struct Sparse<T> {
    /// One bit for each group: set if the group is stored.
    present: u128,
    /// The stored groups, in order.
    stored: Vec<[T; GROUP]>,
    rule: T,
}

impl<T: SparseEntry> Sparse<T> {
    pub(crate) const fn new() -> Self {
        Self {
            present: 0,
            stored: Vec::new(),
            rule: T::NONE,
        }
    }

    /// Entry `at`, which counts modulo 512.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> T {
        let group = at / GROUP % GROUPS;
        // Most programs fill their blocks: then no bits need counting.
        if self.present == u128::MAX {
            return self.stored[group][at % GROUP];
        }
        match self.position(group) {
            Some(position) => self.stored[position][at % GROUP],
            None => self.rule.plus(at as u64 % ENTRIES),
        }
    }

    /// The index of a group in `stored`.
    const fn position(&self, group: usize) -> Option<usize> {
        if self.present >> group & 1 == 0 {
            return None;
        }
        Some((self.present & ((1 << group) - 1)).count_ones() as usize)
    }

    /// Replaces an entry. Answers the entry before, and how many bytes of memory the table took for
    /// the new one.
    pub(crate) fn set(&mut self, at: usize, entry: T) -> (T, usize) {
        let number = at / GROUP % GROUPS;
        if let Some(position) = self.position(number) {
            let old = &mut self.stored[position][at % GROUP];
            return (std::mem::replace(old, entry), 0);
        }
        let old = self.rule.plus(at as u64 % ENTRIES);
        if old == entry {
            return (old, 0);
        }
        let first = (number * GROUP) as u64;
        let mut group = [T::NONE; GROUP];
        for (entry, offset) in group.iter_mut().zip(first..) {
            *entry = self.rule.plus(offset);
        }
        group[at % GROUP] = entry;
        let before = self.bytes();
        if self.stored.len() == self.stored.capacity() {
            // One group takes the room of one: most tables that have few hold one page.
            let more = self.stored.len().clamp(1, GROUPS - self.stored.len());
            self.stored.reserve_exact(more);
        }
        self.present |= 1 << number;
        let position = (self.present & ((1 << number) - 1)).count_ones();
        self.stored.insert(position as usize, group);
        (old, self.bytes() - before)
    }

    /// Bytes of memory in addition to the table itself.
    pub(crate) const fn bytes(&self) -> usize {
        self.stored.capacity() * size_of::<[T; GROUP]>()
    }

    /// The entries that are not [`SparseEntry::NONE`], with their numbers, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, T)> + '_ {
        let ruled = self.rule != T::NONE;
        let said = (0..GROUPS).filter(move |group| ruled || self.present >> group & 1 != 0);
        said.flat_map(|group| group * GROUP..(group + 1) * GROUP)
            .map(|at| (at, self.get(at)))
            .filter(|(_, entry)| *entry != T::NONE)
    }

    /// Changes each entry. The change must not depend on which frame or place an entry names.
    pub(crate) fn update(&mut self, change: impl Fn(T) -> T) {
        self.rule = change(self.rule);
        for entry in self.stored.iter_mut().flatten() {
            *entry = change(*entry);
        }
    }

    /// Looks for a rule that makes most groups superfluous, and drops these groups. Returns the
    /// number of bytes freed.
    pub(crate) fn compact(&mut self) -> usize {
        let before = self.bytes();
        // A superpage of the whole table has a page that was referenced, at most, among these.
        let candidates = [ENTRIES - 1, ENTRIES / 2, 0].into_iter();
        let mut rules = candidates.filter_map(|at| self.get(at as usize).minus(at));
        let follows = |rule: &T, group: usize| {
            (group * GROUP..(group + 1) * GROUP).all(|at| self.get(at) == rule.plus(at as u64))
        };
        let rule = rules.find(|rule| {
            let following = (0..GROUPS).filter(|group| follows(rule, *group));
            following.count() > GROUPS / 2
        });
        let Some(rule) = rule else { return 0 };
        let differing: Vec<usize> = (0..GROUPS)
            .filter(|group| !follows(&rule, *group))
            .collect();
        let mut compacted = Self {
            rule,
            ..Self::new()
        };
        compacted.stored.reserve_exact(differing.len());
        for group in differing {
            compacted.present |= 1 << group;
            let entries = std::array::from_fn(|offset| self.get(group * GROUP + offset));
            compacted.stored.push(entries);
        }
        *self = compacted;
        before.saturating_sub(self.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_units::SplitMix64;

    /// An entry with a number that continues by counting, if it has one.
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Numbered(Option<u64>, bool);

    impl SparseEntry for Numbered {
        const NONE: Self = Self(None, false);

        fn plus(self, entries: u64) -> Self {
            Self(self.0.map(|number| number + entries), self.1)
        }

        fn minus(self, entries: u64) -> Option<Self> {
            let Some(number) = self.0 else {
                return Some(self);
            };
            Some(Self(Some(number.checked_sub(entries)?), self.1))
        }
    }

    #[test]
    fn a_sparse_table_is_a_table() {
        let mut random = SplitMix64::new(7);
        let mut sparse = Sparse::<Numbered>::new();
        let mut table = [Numbered::NONE; ENTRIES as usize];
        for step in 0..20_000_u64 {
            match random.below(400) {
                // A superpage.
                0 => {
                    let first = random.below(9) * 512;
                    for (at, entry) in table.iter_mut().enumerate() {
                        *entry = Numbered(Some(first + at as u64), false);
                        sparse.set(at, *entry);
                    }
                    let one = random.below(512) as usize;
                    table[one].1 = true;
                    sparse.set(one, table[one]);
                }
                1 => {
                    sparse.compact();
                    let stored = sparse.stored.len();
                    assert!(stored <= GROUPS);
                }
                2 => {
                    table.iter_mut().for_each(|entry| entry.1 = false);
                    sparse.update(|entry| Numbered(entry.0, false));
                }
                kind => {
                    let at = random.below(512) as usize;
                    let number = (kind % 3 > 0).then(|| random.below(9 * 512));
                    let entry = Numbered(number, false);
                    let (old, _) = sparse.set(at, entry);
                    assert_eq!(old, std::mem::replace(&mut table[at], entry));
                }
            }
            if step % 16 == 0 {
                let there: Vec<_> = sparse.iter().collect();
                let entries = table.iter().copied().enumerate();
                let said: Vec<_> = entries.filter(|(_, it)| *it != Numbered::NONE).collect();
                assert_eq!(there, said);
                assert!((0..512).all(|at| sparse.get(at) == table[at]));
            }
        }
    }

    #[test]
    fn one_entry_takes_one_group_and_a_superpage_hardly_more() {
        let mut sparse = Sparse::<Numbered>::new();
        sparse.set(77, Numbered(Some(3), false));
        assert_eq!(sparse.bytes(), size_of::<[Numbered; GROUP]>());
        for at in 0..512 {
            sparse.set(at, Numbered(Some(512 + at as u64), at == 77));
        }
        assert_eq!(sparse.stored.len(), GROUPS);
        sparse.compact();
        assert_eq!(sparse.stored.len(), 1);
    }
}
