//! One address space: its mappings and its advice, and the facts about a block.

use crate::advised::Advised;
use crate::mappings::Mappings;
use crate::{Backing, Mapping, Pages};
use broadleaf_policy::Coverage;
use broadleaf_units::{BackingKind, FileId, PageSize, Rights, SpaceId};
use std::collections::BTreeMap;

/// The facts of the mappings about a block, seen from one of its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The place of the block among four neighbours, 0 to 3.
    pub place: u8,
    /// The coverage of the block: whether the block could be a superpage.
    pub coverage: Coverage,
    /// The backing of the block. If no single mapping covers the block, the backing of the page.
    pub backing: BackingKind,
    /// True if stores are allowed at the page.
    pub writable: bool,
    /// True if superpages are advised against for any page of the block.
    pub advised_against: bool,
    /// True if superpages are advised for every page of the block.
    pub advised_for: bool,
    /// True if a fault may reserve the block.
    pub reservable: bool,
}

/// Returns the place of a block among four neighbours.
fn place_of(block: Pages) -> u8 {
    (block.start / block.len().max(1) % 4) as u8
}

/// One address space.
#[derive(Clone, Debug)]
pub(crate) struct Space {
    pub(crate) id: SpaceId,
    pub(crate) mappings: Mappings,
    /// True if the trace lists this space's mappings. Otherwise one mapping of all pages is
    /// assumed.
    pub(crate) listed: bool,
    /// True if the space was ever referenced.
    pub(crate) visited: bool,
    /// The current range of the heap.
    pub(crate) heap: Option<Pages>,
    /// The program's advice about superpages.
    pub(crate) advised: Advised,
    /// The number of changes, from 1. Cached facts of an older generation are stale.
    pub(crate) generation: u64,
}

impl Space {
    pub(crate) fn new(id: SpaceId, listed: bool) -> Self {
        let mut space = Self {
            id,
            mappings: Mappings::default(),
            listed,
            visited: false,
            heap: None,
            advised: Advised::default(),
            generation: 1,
        };
        space.assume(Pages::ALL);
        space
    }

    /// Assumes readable and writable memory in a range of a space whose mappings the trace does not
    /// list. Such a trace has no event for the mappings that follow an `munmap(2)`.
    pub(crate) fn assume(&mut self, pages: Pages) {
        if !self.listed {
            self.mappings.put(Mapping {
                pages,
                rights: Rights::READ_WRITE,
                shared: false,
                backing: Backing::Anonymous,
            });
        }
    }

    /// Notes that the trace lists the mappings, and drops the assumed ones.
    pub(crate) fn list_mappings(&mut self) {
        if !self.listed {
            self.listed = true;
            self.mappings.clear();
            self.generation += 1;
        }
    }

    /// Makes a mapping and forgets the old advice in its range.
    pub(crate) fn map(&mut self, mapping: Mapping) {
        self.advised.forget(mapping.pages);
        self.mappings.put(mapping);
    }

    /// Removes the mappings and the advice of a range.
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
            place: place_of(block),
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
