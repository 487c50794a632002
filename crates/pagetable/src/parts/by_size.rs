//! One hashed table for each page size.

use crate::parts::aliases::AliasRoom;
use crate::parts::chains::ChainHead;
use crate::parts::single_mappings::{Hashed, HashedShape};
use crate::{PageTableChoice, TableRead, TableSize};
use broadleaf_units::{AlignedRun, Leaf, PageNumber, PageSize, SpaceId, StructureParameter};
use std::collections::BTreeMap;

/// The order of the search.
pub(crate) const ORDER: StructureParameter = StructureParameter::word(
    "order",
    &["smallest-first", "largest-first"],
    "the order in which the tables of the page sizes are searched",
);

/// Hashed tables by page size.
#[derive(Clone, Debug)]
pub(crate) struct BySize {
    base: PageSize,
    choice: PageTableChoice,
    /// The tables that were needed.
    tables: BTreeMap<PageSize, Hashed>,
    /// True if the largest size is searched first.
    is_largest_first: bool,
}

impl BySize {
    pub(crate) fn new(base: PageSize, choice: &PageTableChoice) -> Self {
        Self {
            base,
            choice: choice.clone(),
            tables: BTreeMap::new(),
            is_largest_first: choice.word(ORDER.name) == "largest-first",
        }
    }

    pub(crate) fn map(&mut self, space: SpaceId, leaf: Leaf) {
        let size = leaf.run.size;
        let shape = HashedShape {
            base: self.base.min(size),
            block: size,
            heads: ChainHead::Node,
            region: u64::from(size.shift()),
        };
        let table = self.tables.entry(size);
        let table = table.or_insert_with(|| Hashed::new(&shape, &self.choice));
        table.map(space, leaf);
    }

    pub(crate) fn protect(&mut self, space: SpaceId, leaf: Leaf) {
        if let Some(table) = self.tables.get_mut(&leaf.run.size) {
            table.protect(space, leaf);
        }
    }

    pub(crate) fn unmap(&mut self, space: SpaceId, run: AlignedRun) {
        if let Some(table) = self.tables.get_mut(&run.size) {
            table.unmap(space, run);
        }
    }

    pub(crate) fn end(&mut self, space: SpaceId) {
        self.tables.values_mut().for_each(|table| table.end(space));
    }

    pub(crate) fn walk(
        &mut self,
        space: SpaceId,
        page: PageNumber,
        reads: &mut dyn FnMut(TableRead),
    ) -> Option<Leaf> {
        let mut walk = |table: &mut Hashed| table.walk(space, page, reads);
        let mut tables = self.tables.values_mut();
        match self.is_largest_first {
            true => tables.rev().find_map(&mut walk),
            false => tables.find_map(&mut walk),
        }
    }

    pub(crate) fn size(&self) -> TableSize {
        let each = self.tables.values().map(Hashed::size);
        each.fold(TableSize::default(), |mut all, one| {
            all.fixed += one.fixed;
            all.levels.extend(one.levels);
            all
        })
    }

    pub(crate) fn has_aliases(&self) -> bool {
        AliasRoom::of(&self.choice) != AliasRoom::None
    }
}
