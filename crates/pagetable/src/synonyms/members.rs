//! The members of lists: entries of page tables, and descriptors of frames.

use crate::TableRead;
use crate::parts::nodes::Nodes;
use broadleaf_units::{AlignedRun, Leaf, PageSize, SpaceId};
use std::collections::BTreeMap;

/// A member of a list: an entry, and the number of the base page whose pointer the list uses.
pub(super) type Member = (u32, u64);

/// The bytes of a pointer.
const BYTES: u32 = 8;
/// The region of the entries' addresses, and the distance of two entries as a power of two: the
/// pointers of a page of 1 GiB fit.
const ENTRIES: (u64, u32) = (3 << 12, 21);
/// The address of the descriptors of base frames, and the bits between those of two sizes.
const DESCRIPTORS: (u64, u32) = (1 << 62, 48);

/// The entries of page tables that map frames.
#[derive(Clone, Debug)]
pub(super) struct Members {
    /// The pages of 4 KiB of a base page, as a power of two.
    base_shift: u32,
    entries: Nodes<(SpaceId, Leaf)>,
    numbers: BTreeMap<(SpaceId, AlignedRun), u32>,
}

impl Members {
    pub(super) const fn new(base: PageSize) -> Self {
        Self {
            base_shift: (base.shift() - PageSize::SIZE_4K.shift()) as u32,
            entries: Nodes::new(ENTRIES.0, ENTRIES.1),
            numbers: BTreeMap::new(),
        }
    }

    /// Adds an entry. `None` for a page without frames: the page of zeroes has no list.
    pub(super) fn add(&mut self, space: SpaceId, leaf: Leaf) -> Option<u32> {
        leaf.frame?;
        let number = self.entries.add((space, leaf));
        self.numbers.insert((space, leaf.run), number);
        Some(number)
    }

    /// The number of an entry.
    pub(super) fn number(&self, space: SpaceId, run: AlignedRun) -> Option<u32> {
        self.numbers.get(&(space, run)).copied()
    }

    pub(super) fn remove(&mut self, space: SpaceId, run: AlignedRun) {
        if let Some(number) = self.numbers.remove(&(space, run)) {
            self.entries.remove(number);
        }
    }

    pub(super) fn get(&self, number: u32) -> Option<(SpaceId, Leaf)> {
        self.entries.get(number).copied()
    }

    /// The base frames of a page, first and number, and whether the first is a multiple of the
    /// number.
    pub(super) fn frames(&self, leaf: &Leaf) -> (u64, u64, bool) {
        let first = leaf.frame.unwrap_or(0) >> self.base_shift;
        let count = (leaf.run.pages() >> self.base_shift).max(1);
        (first, count, first.is_multiple_of(count))
    }

    /// The base frame of a frame of 4 KiB.
    pub(super) const fn base_frame(&self, frame: u64) -> u64 {
        frame >> self.base_shift
    }

    /// Reads the pointer of a member.
    pub(super) fn read(&self, (number, page): Member, reads: &mut dyn FnMut(TableRead)) {
        let address = self.entries.address(number) + page * u64::from(BYTES);
        reads(TableRead::of_node(address, BYTES));
    }
}

/// Reads the descriptors of frames in a row. `shift` is the number of base frames of each
/// descriptor, as a power of two.
pub(super) fn read_descriptors(
    first: u64,
    count: u64,
    shift: u32,
    reads: &mut dyn FnMut(TableRead),
) {
    let begin = DESCRIPTORS.0 + (u64::from(shift) << DESCRIPTORS.1);
    let address = begin + first * u64::from(BYTES);
    reads(TableRead::of_node(address, BYTES * count as u32));
}

/// Lists of members, the newest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Lists<K>(BTreeMap<K, Vec<Member>>);

impl<K: Ord + Copy> Lists<K> {
    pub(super) const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Adds a member at the front.
    pub(super) fn push(&mut self, key: K, member: Member) {
        self.0.entry(key).or_default().push(member);
    }

    /// Adds a member after the first one.
    pub(super) fn push_second(&mut self, key: K, member: Member) {
        let list = self.0.entry(key).or_default();
        list.insert(list.len().saturating_sub(1), member);
    }

    /// Removes a member.
    pub(super) fn remove(&mut self, key: K, member: Member) {
        if let Some(list) = self.0.get_mut(&key) {
            list.retain(|other| *other != member);
            if list.is_empty() {
                self.0.remove(&key);
            }
        }
    }

    /// The members of a list, in order.
    pub(super) fn members(&self, key: K) -> impl Iterator<Item = Member> + '_ {
        self.0
            .get(&key)
            .into_iter()
            .flat_map(|list| list.iter().rev().copied())
    }

    /// The keys of lists with members, from `first` to before `after`.
    pub(super) fn keys(&self, first: K, after: K) -> Vec<K> {
        self.0.range(first..after).map(|(key, _)| *key).collect()
    }

    /// Reads the pointers of a list up to a member.
    pub(super) fn read_to(
        &self,
        key: K,
        member: Member,
        members: &Members,
        reads: &mut dyn FnMut(TableRead),
    ) {
        for one in self.members(key) {
            members.read(one, reads);
            if one == member {
                return;
            }
        }
    }

    /// The number of lists.
    pub(super) fn len(&self) -> u64 {
        self.0.len() as u64
    }
}
