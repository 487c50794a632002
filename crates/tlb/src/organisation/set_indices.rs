//! The sets of pages and walk entries.

use crate::{Compiled, IndexFunction, Structure, TlbRequest};
use broadleaf_units::PageSize;

/// The index functions of a structure, for each page size and each size of walk entries.
#[derive(Clone, Debug)]
pub(super) struct SetIndices {
    pages: Vec<(PageSize, Compiled)>,
    walk_entries: Vec<(PageSize, Compiled)>,
}

impl SetIndices {
    pub(super) fn new(structure: &Structure) -> Self {
        let compile = |list: &[(PageSize, IndexFunction)]| {
            let compiled = list.iter().map(|(size, index)| (*size, index.compile()));
            compiled.collect()
        };
        Self {
            pages: compile(&structure.pages),
            walk_entries: compile(&structure.walk_entries),
        }
    }

    /// The set of a page of 4 KiB as part of a page, or of a walk entry, of the size. `None` if the
    /// structure holds none of the size.
    #[inline]
    pub(super) fn set_of(&self, request: &TlbRequest, size: PageSize) -> Option<usize> {
        let indices = match request.tag.is_of_tables() {
            true => &self.walk_entries,
            false => &self.pages,
        };
        let (_, index) = indices.iter().find(|(held, _)| *held == size)?;
        Some(index.set_of(request.page))
    }

    /// Returns true if the structure holds pages of the size.
    pub(super) fn holds(&self, size: PageSize) -> bool {
        self.pages.iter().any(|(held, _)| *held == size)
    }
}
