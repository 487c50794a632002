//! One address space: its mappings, and what they say about a block.

use crate::advised::Advised;
use crate::mappings::Mappings;
use crate::{Backing, Mapping, Pages, Rights};
use broadleaf_policy::{BackingKind, Coverage};
use broadleaf_units::{FileId, PageSize, SpaceId};
use std::collections::BTreeMap;

/// What the mappings say about a block, seen from one of its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Whether it could be a superpage.
    pub coverage: Coverage,
    /// What stands behind it; where no one mapping covers it, behind the page.
    pub backing: BackingKind,
    /// Whether stores are allowed there.
    pub writable: bool,
    /// Whether superpages are advised against for any page of it.
    pub advised_against: bool,
    /// Whether superpages are advised for every page of it.
    pub advised_for: bool,
    /// Whether a fault may make a reservation of it.
    pub reservable: bool,
}

/// One address space.
#[derive(Clone, Debug)]
pub(crate) struct Space {
    pub(crate) id: SpaceId,
    pub(crate) mappings: Mappings,
    /// Whether the trace tells this space's mappings. Where it does not, one mapping of all pages
    /// is assumed.
    pub(crate) told: bool,
    /// Whether it was ever referenced.
    pub(crate) visited: bool,
    /// Where the heap stands now.
    pub(crate) heap: Option<Pages>,
    /// What the program advised of superpages.
    pub(crate) advised: Advised,
    /// Moves on with every change, so that what was found out before is known to be old.
    pub(crate) generation: u64,
}

impl Space {
    pub(crate) fn new(id: SpaceId, told: bool) -> Self {
        let mut space = Self {
            id,
            mappings: Mappings::default(),
            told,
            visited: false,
            heap: None,
            advised: Advised::default(),
            generation: 1,
        };
        space.assume(Pages::ALL);
        space
    }

    /// Where the trace does not tell mappings, nothing tells of those that follow an `munmap(2)` or
    /// stand where no event was seen either: memory that can be read and written is taken to be
    /// there.
    pub(crate) fn assume(&mut self, pages: Pages) {
        if !self.told {
            self.mappings.put(Mapping {
                pages,
                rights: Rights::READ_WRITE,
                shared: false,
                backing: Backing::Anonymous,
            });
        }
    }

    /// The trace tells the mappings: nothing is assumed any more.
    pub(crate) fn tell(&mut self) {
        if !self.told {
            self.told = true;
            self.mappings.clear();
            self.generation += 1;
        }
    }

    /// Makes a mapping; advice that stood there is gone.
    pub(crate) fn map(&mut self, mapping: Mapping) {
        self.advised.forget(mapping.pages);
        self.mappings.put(mapping);
    }

    /// Takes mappings away, and advice with them.
    pub(crate) fn unmap(&mut self, pages: Pages) {
        self.advised.forget(pages);
        self.mappings.cut(pages);
        self.assume(pages);
    }

    /// Forgets everything, as at the start of another program.
    pub(crate) fn clear(&mut self) {
        self.mappings.clear();
        self.assume(Pages::ALL);
        self.heap = None;
        self.advised = Advised::default();
        self.generation += 1;
    }

    /// The facts about a block, as seen from one of its pages. `base` is the size of a base page.
    pub(crate) fn facts(
        &self,
        block: Pages,
        page: u64,
        files: &BTreeMap<FileId, u64>,
        base: PageSize,
    ) -> Facts {
        let here = self.mappings.at(page);
        let coverage = self.coverage(block, files, base);
        Facts {
            coverage,
            backing: self.backing(page),
            writable: here.is_none_or(|mapping| mapping.rights.write),
            advised_against: self.advised.against.meets(block),
            advised_for: self.advised.for_them.covers(block),
            reservable: coverage == Coverage::Covered
                || here.is_some_and(|mapping| mapping.may_grow_into(block)),
        }
    }

    /// The kind of memory that a page maps.
    pub(crate) fn backing(&self, page: u64) -> BackingKind {
        let mapping = self.mappings.at(page);
        mapping.map_or(BackingKind::Anonymous, |mapping| mapping.backing.kind())
    }

    fn coverage(&self, block: Pages, files: &BTreeMap<FileId, u64>, base: PageSize) -> Coverage {
        let mut end = block.start;
        let mut first: Option<&Mapping> = None;
        let mut mixed = false;
        for mapping in self.mappings.meeting(block) {
            let size = match mapping.backing {
                Backing::File { file, .. } => files.get(&file).copied(),
                _ => None,
            };
            if mapping.can_hold(block, size, base) {
                return Coverage::Covered;
            }
            if mapping.pages.start > end {
                return Coverage::NotCovered;
            }
            end = mapping.pages.end;
            mixed |= first.is_some_and(|first| first.rights != mapping.rights);
            first = first.or(Some(mapping));
        }
        if end >= block.end && mixed {
            Coverage::MixedProtection
        } else {
            Coverage::NotCovered
        }
    }
}
