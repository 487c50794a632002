//! An entry is in the list of its first frame, and the other frames have a flag.

use super::members::{Lists, Members, read_descriptors};
use super::{SynonymKind, SynonymSize, SynonymTable};
use crate::TableRead;
use broadleaf_units::{Described, Leaf, SpaceId};
use std::collections::BTreeMap;

pub(super) static FIRST: SynonymKind = SynonymKind {
    described: Described {
        name: "synonyms-first",
        summary: "one pointer an entry: in the list of the first frame, with a flag in the others",
        explanation: "The flag of a frame says that an entry of this size covers it. Who looks a \
                      frame up also searches the lists of the first frames of flagged sizes, and \
                      skips entries that do not cover the frame. A superpage's first entry sets \
                      the flags of all its frames, and its last entry clears them. A page whose \
                      frames are not aligned has a pointer for each base page.",
        source: "Talluri 1995, section 7.8 (second scheme with one pointer)",
    },
    build: |base| {
        Box::new(First {
            members: Members::new(base),
            lists: Lists::new(),
            sizes: BTreeMap::new(),
            covered: BTreeMap::new(),
            pointers: 0,
        })
    },
};

#[derive(Clone, Debug)]
struct First {
    members: Members,
    /// By base frame.
    lists: Lists<u64>,
    /// The entries with flags, by size and first frame: how many.
    sizes: BTreeMap<(u64, u64), u64>,
    /// The entries that cover each base frame.
    covered: BTreeMap<u64, u64>,
    pointers: u64,
}

impl First {
    /// Counts the frames of an entry as covered once more, or once less.
    fn cover(&mut self, first: u64, count: u64, is_more: bool) {
        for frame in first..first + count {
            let entries = self.covered.entry(frame).or_default();
            *entries = if is_more { *entries + 1 } else { *entries - 1 };
            if *entries == 0 {
                self.covered.remove(&frame);
            }
        }
    }
}

impl SynonymTable for First {
    fn map(&mut self, space: SpaceId, leaf: Leaf, reads: &mut dyn FnMut(TableRead)) {
        let Some(number) = self.members.add(space, leaf) else {
            return;
        };
        let (first, count, is_aligned) = self.members.frames(&leaf);
        self.cover(first, count, true);
        if !is_aligned {
            read_descriptors(first, count, 0, reads);
            for page in 0..count {
                self.members.read((number, page), reads);
                self.lists.push(first + page, (number, page));
            }
            self.pointers += count;
            return;
        }
        let entries = self.sizes.entry((count, first)).or_default();
        *entries += 1;
        // The next frame's flag says whether the others have it.
        let read = if *entries == 1 { count } else { count.min(2) };
        read_descriptors(first, read, 0, reads);
        self.members.read((number, 0), reads);
        self.lists.push(first, (number, 0));
        self.pointers += 1;
    }

    fn unmap(&mut self, space: SpaceId, leaf: Leaf, reads: &mut dyn FnMut(TableRead)) {
        let Some(number) = self.members.number(space, leaf.run) else {
            return;
        };
        let (first, count, is_aligned) = self.members.frames(&leaf);
        self.cover(first, count, false);
        let pages = if is_aligned { 1 } else { count };
        let mut read = pages;
        if is_aligned && let Some(entries) = self.sizes.get_mut(&(count, first)) {
            *entries -= 1;
            if *entries == 0 {
                self.sizes.remove(&(count, first));
                read = count;
            }
        }
        read_descriptors(first, read, 0, reads);
        for page in 0..pages {
            let (key, member) = (first + page, (number, page));
            self.lists.read_to(key, member, &self.members, reads);
            self.lists.remove(key, member);
        }
        self.pointers -= pages;
        self.members.remove(space, leaf.run);
    }

    fn aliases(&self, frame: u64, reads: &mut dyn FnMut(TableRead)) -> Vec<(SpaceId, Leaf)> {
        let base = self.members.base_frame(frame);
        let mut sizes: Vec<u64> = self.sizes.keys().map(|(size, _)| *size).collect();
        sizes.dedup();
        let flagged = sizes.into_iter().map(|size| (size, base & !(size - 1)));
        let flagged = flagged.filter(|key| self.sizes.contains_key(key));
        let mut heads: Vec<u64> = [base]
            .into_iter()
            .chain(flagged.map(|(_, first)| first))
            .collect();
        heads.sort_unstable_by(|one, other| other.cmp(one));
        heads.dedup();
        let mut found = Vec::new();
        for head in heads {
            read_descriptors(head, 1, 0, reads);
            for member in self.lists.members(head) {
                self.members.read(member, reads);
                let entry = self.members.get(member.0);
                found.extend(entry.filter(|(_, leaf)| {
                    let (first, count, is_aligned) = self.members.frames(leaf);
                    // Each base page of an entry without flags has its own list.
                    let is_own = is_aligned || head == base;
                    is_own && (first..first + count).contains(&base)
                }));
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
