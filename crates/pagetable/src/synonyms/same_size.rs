//! All entries of a frame have one size.

use super::members::{Lists, Members, read_descriptors};
use super::{SynonymKind, SynonymSize, SynonymTable};
use crate::TableRead;
use broadleaf_units::{Described, Leaf, SpaceId};
use std::collections::{BTreeMap, BTreeSet};

pub(super) static SAME_SIZE: SynonymKind = SynonymKind {
    described: Described {
        name: "synonyms-same-size",
        summary: "one pointer an entry: all entries of a frame have the same size",
        explanation: "The list of a superpage hangs off a descriptor of its size. A system with \
                      such a table gives all mappings of a frame one size. Where a recording does \
                      otherwise, the superpages among them count as split: their entries list each \
                      base page on its own, as those of the broken superpages would.",
        source: "Talluri 1995, section 7.8 (first scheme with one pointer)",
    },
    build: |base| {
        Box::new(SameSize {
            members: Members::new(base),
            lists: Lists::new(),
            whole: BTreeMap::new(),
            split: BTreeSet::new(),
            pointers: 0,
        })
    },
};

/// A list's key: the base frames of its descriptor, as a power of two, and the first of them.
type ListKey = (u32, u64);

#[derive(Clone, Debug)]
struct SameSize {
    members: Members,
    lists: Lists<ListKey>,
    /// Base frames of descriptors with lists: the first of each, with the size as a power of two
    /// and the number of entries.
    whole: BTreeMap<u64, (u32, u64)>,
    /// The entries that list each base page.
    split: BTreeSet<u32>,
    pointers: u64,
}

impl SameSize {
    /// The descriptors with lists that meet frames.
    fn met(&self, first: u64, count: u64) -> Vec<(u64, u32)> {
        let before = self.whole.range(..first).next_back();
        let before = before.filter(|(begin, (shift, _))| *begin + (1 << shift) > first);
        let inside = self.whole.range(first..first + count);
        let met = before.into_iter().chain(inside);
        met.map(|(begin, (shift, _))| (*begin, *shift)).collect()
    }

    /// Adds an entry to the list of one descriptor.
    fn enter(&mut self, key: ListKey, member: (u32, u64), reads: &mut dyn FnMut(TableRead)) {
        read_descriptors(key.1 >> key.0, 1, key.0, reads);
        self.members.read(member, reads);
        self.lists.push(key, member);
        self.whole.entry(key.1).or_insert((key.0, 0)).1 += 1;
        self.pointers += 1;
    }

    /// Takes an entry out of the list of one descriptor.
    fn leave(&mut self, key: ListKey, member: (u32, u64), reads: &mut dyn FnMut(TableRead)) {
        read_descriptors(key.1 >> key.0, 1, key.0, reads);
        self.lists.read_to(key, member, &self.members, reads);
        self.lists.remove(key, member);
        self.pointers -= 1;
        if let Some((_, entries)) = self.whole.get_mut(&key.1) {
            *entries -= 1;
            if *entries == 0 {
                self.whole.remove(&key.1);
            }
        }
    }

    /// Lists the base pages of all entries of a descriptor one by one.
    fn split(&mut self, (begin, shift): (u64, u32), reads: &mut dyn FnMut(TableRead)) {
        let members: Vec<(u32, u64)> = self.lists.members((shift, begin)).collect();
        for member in &members {
            self.leave((shift, begin), *member, reads);
        }
        // The oldest first, so that the newest is at the front again.
        for (number, _) in members.into_iter().rev() {
            self.enter_pages(number, begin, 1 << shift, reads);
        }
    }

    fn enter_pages(
        &mut self,
        number: u32,
        first: u64,
        count: u64,
        reads: &mut dyn FnMut(TableRead),
    ) {
        self.split.insert(number);
        (0..count).for_each(|page| self.enter((0, first + page), (number, page), reads));
    }
}

impl SynonymTable for SameSize {
    fn map(&mut self, space: SpaceId, leaf: Leaf, reads: &mut dyn FnMut(TableRead)) {
        let Some(number) = self.members.add(space, leaf) else {
            return;
        };
        let (first, count, is_aligned) = self.members.frames(&leaf);
        let shift = count.ilog2();
        let met = self.met(first, count);
        if is_aligned && met.iter().all(|found| *found == (first, shift)) {
            self.enter((shift, first), (number, 0), reads);
            return;
        }
        for found in met.into_iter().filter(|(_, shift)| *shift > 0) {
            self.split(found, reads);
        }
        if count == 1 {
            self.enter((0, first), (number, 0), reads);
        } else {
            self.enter_pages(number, first, count, reads);
        }
    }

    fn unmap(&mut self, space: SpaceId, leaf: Leaf, reads: &mut dyn FnMut(TableRead)) {
        let Some(number) = self.members.number(space, leaf.run) else {
            return;
        };
        let (first, count, _) = self.members.frames(&leaf);
        if self.split.remove(&number) {
            for page in 0..count {
                self.leave((0, first + page), (number, page), reads);
            }
        } else {
            self.leave((count.ilog2(), first), (number, 0), reads);
        }
        self.members.remove(space, leaf.run);
    }

    fn aliases(&self, frame: u64, reads: &mut dyn FnMut(TableRead)) -> Vec<(SpaceId, Leaf)> {
        let frame = self.members.base_frame(frame);
        let mut found = Vec::new();
        for (begin, shift) in self.met(frame, 1) {
            read_descriptors(begin >> shift, 1, shift, reads);
            for member in self.lists.members((shift, begin)) {
                self.members.read(member, reads);
                found.extend(self.members.get(member.0));
            }
        }
        found
    }

    fn size(&self) -> SynonymSize {
        SynonymSize {
            descriptors: self.lists.len(),
            pointers: self.pointers,
            split: self.split.len() as u64,
        }
    }
}
