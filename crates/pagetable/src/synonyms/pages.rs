//! A pointer for each base page.

use super::members::{Lists, Members, read_descriptors};
use super::{SynonymKind, SynonymSize, SynonymTable};
use crate::TableRead;
use broadleaf_units::{Described, Leaf, SpaceId};

pub(super) static PAGES: SynonymKind = SynonymKind {
    described: Described {
        name: "synonyms-pages",
        summary: "a list for each base frame: an entry has a pointer for each of its base pages",
        explanation: "The entry of a superpage is a member of as many lists as it has base pages. \
                      Each list has the frame's own entries and no others, and mapping or \
                      unmapping a superpage touches all of its lists. A hashed table has 32 bytes \
                      for each base page, and a clustered node of sixteen pages 272 bytes \
                      (`aliases=pages`).",
        source: "Talluri 1995, section 7.8 (the plain form)",
    },
    build: |base| {
        Box::new(ByPage {
            members: Members::new(base),
            lists: Lists::new(),
            pointers: 0,
        })
    },
};

#[derive(Clone, Debug)]
struct ByPage {
    members: Members,
    /// By base frame.
    lists: Lists<u64>,
    pointers: u64,
}

impl SynonymTable for ByPage {
    fn map(&mut self, space: SpaceId, leaf: Leaf, reads: &mut dyn FnMut(TableRead)) {
        let Some(number) = self.members.add(space, leaf) else {
            return;
        };
        let (first, count, _) = self.members.frames(&leaf);
        read_descriptors(first, count, 0, reads);
        for page in 0..count {
            self.members.read((number, page), reads);
            self.lists.push(first + page, (number, page));
        }
        self.pointers += count;
    }

    fn unmap(&mut self, space: SpaceId, leaf: Leaf, reads: &mut dyn FnMut(TableRead)) {
        let Some(number) = self.members.number(space, leaf.run) else {
            return;
        };
        let (first, count, _) = self.members.frames(&leaf);
        read_descriptors(first, count, 0, reads);
        for page in 0..count {
            let (key, member) = (first + page, (number, page));
            self.lists.read_to(key, member, &self.members, reads);
            self.lists.remove(key, member);
        }
        self.pointers -= count;
        self.members.remove(space, leaf.run);
    }

    fn aliases(&self, frame: u64, reads: &mut dyn FnMut(TableRead)) -> Vec<(SpaceId, Leaf)> {
        let frame = self.members.base_frame(frame);
        read_descriptors(frame, 1, 0, reads);
        let members = self.lists.members(frame);
        members
            .filter_map(|member| {
                self.members.read(member, reads);
                self.members.get(member.0)
            })
            .collect()
    }

    fn size(&self) -> SynonymSize {
        SynonymSize {
            descriptors: self.lists.len(),
            pointers: self.pointers,
            split: 0,
        }
    }
}
