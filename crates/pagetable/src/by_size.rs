//! One hashed table for each page size.

use crate::chains::ChainHead;
use crate::hashed::Hashed;
use crate::{TableRead, TableSize};
use broadleaf_units::{AlignedRun, Leaf, PageNumber, PageSize, SpaceId};
use std::collections::BTreeMap;

/// Hashed tables by page size, searched smallest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct BySize(BTreeMap<PageSize, Hashed>);

impl BySize {
    pub(crate) fn map(&mut self, space: SpaceId, leaf: Leaf) {
        let size = leaf.run.size;
        let region = u64::from(size.shift());
        let table = self.0.entry(size);
        let table = table.or_insert_with(|| Hashed::new(size, ChainHead::Node, region));
        table.map(space, leaf);
    }

    pub(crate) fn unmap(&mut self, space: SpaceId, run: AlignedRun) {
        if let Some(table) = self.0.get_mut(&run.size) {
            table.unmap(space, run);
        }
    }

    pub(crate) fn end(&mut self, space: SpaceId) {
        self.0.values_mut().for_each(|table| table.end(space));
    }

    pub(crate) fn walk(
        &mut self,
        space: SpaceId,
        page: PageNumber,
        reads: &mut dyn FnMut(TableRead),
    ) -> Option<Leaf> {
        self.0
            .values_mut()
            .find_map(|table| table.walk(space, page, reads))
    }

    pub(crate) fn size(&self) -> TableSize {
        let each = self.0.values().map(Hashed::size);
        each.fold(TableSize::default(), |mut all, one| {
            all.fixed += one.fixed;
            all.levels.extend(one.levels);
            all
        })
    }
}
