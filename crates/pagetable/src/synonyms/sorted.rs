//! Lists sorted by page size, whose tails neighbouring frames share.

use super::members::{Lists, Members, read_descriptors};
use super::{SynonymKind, SynonymSize, SynonymTable};
use crate::TableRead;
use broadleaf_units::{Described, Leaf, SpaceId};
use std::collections::BTreeMap;

pub(super) static SORTED: SynonymKind = SynonymKind {
    described: Described {
        name: "synonyms-sorted",
        summary: "one pointer an entry: lists sorted by page size, which share their tails",
        explanation: "A frame's list has the entries of base pages first, and then those of larger \
                      pages. The lists of all frames of a superpage end in the superpage's \
                      entries. A superpage's first entry is appended to the lists of all its \
                      frames; the others follow the first. A page whose frames are not aligned has \
                      a pointer for each base page.",
        source: "Talluri 1995, section 7.8 (third scheme with one pointer)",
    },
    build: |base| {
        Box::new(Sorted {
            members: Members::new(base),
            lists: Lists::new(),
            sizes: BTreeMap::new(),
            covered: BTreeMap::new(),
            pointers: 0,
        })
    },
};

/// The base frames of a page, and the first of them.
type ListKey = (u64, u64);

#[derive(Clone, Debug)]
struct Sorted {
    members: Members,
    /// The entries of one size.
    lists: Lists<ListKey>,
    /// The entries of each size in base frames.
    sizes: BTreeMap<u64, u64>,
    /// The entries that cover each base frame.
    covered: BTreeMap<u64, u64>,
    pointers: u64,
}

impl Sorted {
    /// Counts a member of a list more or less.
    fn count(&mut self, (size, first): ListKey, is_more: bool) {
        let change = |entries: u64| if is_more { entries + 1 } else { entries - 1 };
        let entries = self.sizes.entry(size).or_default();
        *entries = change(*entries);
        if *entries == 0 {
            self.sizes.remove(&size);
        }
        for frame in first..first + size {
            let entries = self.covered.entry(frame).or_default();
            *entries = change(*entries);
            if *entries == 0 {
                self.covered.remove(&frame);
            }
        }
        self.pointers = change(self.pointers);
    }

    /// Reads the lists of all frames of a page, up to the entries of the page's size.
    fn read_all_smaller(&self, (size, first): ListKey, reads: &mut dyn FnMut(TableRead)) {
        read_descriptors(first, size, 0, reads);
        for smaller in self.sizes.range(..size).map(|(size, _)| *size) {
            for key in self.lists.keys((smaller, first), (smaller, first + size)) {
                let members = self.lists.members(key);
                members.for_each(|member| self.members.read(member, reads));
            }
        }
    }

    /// Reads the list of a page's first frame, up to the entries of the page's size.
    fn read_smaller(&self, (size, first): ListKey, reads: &mut dyn FnMut(TableRead)) {
        read_descriptors(first, 1, 0, reads);
        for smaller in self.sizes.range(..size).map(|(size, _)| *size) {
            let members = self.lists.members((smaller, first & !(smaller - 1)));
            members.for_each(|member| self.members.read(member, reads));
        }
    }

    /// The lists of an entry: one, or one for each base page if its frames are not aligned.
    fn keys(&self, leaf: &Leaf) -> impl Iterator<Item = (ListKey, u64)> + use<> {
        let (first, count, is_aligned) = self.members.frames(leaf);
        let (size, lists) = if is_aligned { (count, 1) } else { (1, count) };
        (0..lists).map(move |page| ((size, first + page), page))
    }
}

impl SynonymTable for Sorted {
    fn map(&mut self, space: SpaceId, leaf: Leaf, reads: &mut dyn FnMut(TableRead)) {
        let Some(number) = self.members.add(space, leaf) else {
            return;
        };
        for (key, page) in self.keys(&leaf) {
            let member = (number, page);
            let first = self.lists.members(key).next();
            match first {
                // Base pages come first in their list.
                _ if key.0 == 1 => read_descriptors(key.1, 1, 0, reads),
                Some(first) => {
                    self.read_smaller(key, reads);
                    self.members.read(first, reads);
                }
                None => self.read_all_smaller(key, reads),
            }
            self.members.read(member, reads);
            if key.0 == 1 {
                self.lists.push(key, member);
            } else {
                self.lists.push_second(key, member);
            }
            self.count(key, true);
        }
    }

    fn unmap(&mut self, space: SpaceId, leaf: Leaf, reads: &mut dyn FnMut(TableRead)) {
        let Some(number) = self.members.number(space, leaf.run) else {
            return;
        };
        for (key, page) in self.keys(&leaf) {
            let member = (number, page);
            if key.0 > 1 && self.lists.members(key).next() == Some(member) {
                self.read_all_smaller(key, reads);
            } else {
                self.read_smaller(key, reads);
            }
            self.lists.read_to(key, member, &self.members, reads);
            self.lists.remove(key, member);
            self.count(key, false);
        }
        self.members.remove(space, leaf.run);
    }

    fn aliases(&self, frame: u64, reads: &mut dyn FnMut(TableRead)) -> Vec<(SpaceId, Leaf)> {
        let frame = self.members.base_frame(frame);
        read_descriptors(frame, 1, 0, reads);
        let mut found = Vec::new();
        for size in self.sizes.keys() {
            for member in self.lists.members((*size, frame & !(size - 1))) {
                self.members.read(member, reads);
                found.extend(self.members.get(member.0));
            }
        }
        found
    }

    fn size(&self) -> SynonymSize {
        SynonymSize {
            descriptors: self.covered.len() as u64,
            pointers: self.pointers,
            split: 0,
        }
    }
}
