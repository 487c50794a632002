//! Page tables that are Python classes. The class gives the reads of a walk. The engine knows the
//! frame of each page, so a class cannot make a translation wrong.

use std::collections::BTreeMap;

use broadleaf_pagetable::{PageTable, PageTableChoice, PageTableKind, TableRead, TableSize};
use broadleaf_units::{AlignedRun, Leaf, PageNumber, SpaceId};
use pyo3::prelude::*;
use pyo3::types::PyType;

use super::{NamedClass, PartObject};
use crate::run::FirstError;

/// Makes a page table of a class.
///
/// # Errors
/// If the class has no name.
pub(crate) fn page_table_of(
    class: &Bound<'_, PyType>,
    error: &FirstError,
) -> PyResult<(NamedClass, PageTableChoice)> {
    let named = NamedClass::new(class, error)?;
    let kind = PageTableKind {
        described: named.described(),
        parameters: &[],
        build: |base, choice| {
            let name = choice.entry().described.name;
            let object = PartObject::new(name, |class| Ok(class.call1((base.bytes(),))?.unbind()));
            Box::new(PythonTable {
                object,
                leaves: BTreeMap::new(),
            })
        },
        spans: |_| Vec::new(),
        cost_by_size: false,
    };
    let kind: &'static PageTableKind = Box::leak(Box::new(kind));
    Ok((named, PageTableChoice::from(kind)))
}

/// The tables of all address spaces.
#[derive(Debug)]
struct PythonTable {
    object: PartObject,
    /// The leaves by their spaces and first pages.
    leaves: BTreeMap<(u32, u64), Leaf>,
}

impl PythonTable {
    fn leaf(&self, space: SpaceId, page: PageNumber) -> Option<Leaf> {
        let mut before = self.leaves.range((space.0, 0)..=(space.0, page.0));
        let (_, leaf) = before.next_back()?;
        leaf.run.contains(page).then_some(*leaf)
    }
}

/// A leaf for Python: the first page, the number of pages of 4 KiB, and the first frame.
fn described(leaf: &Leaf) -> (u64, u64, Option<u64>) {
    (leaf.run.first.0, leaf.run.pages(), leaf.frame)
}

impl PageTable for PythonTable {
    fn map(&mut self, space: SpaceId, leaf: Leaf) {
        self.leaves.insert((space.0, leaf.run.first.0), leaf);
        let (page, pages, frame) = described(&leaf);
        self.object.ask(|table| {
            table
                .call_method1("map", (space.0, page, pages, frame))
                .map(drop)
        });
    }

    fn unmap(&mut self, space: SpaceId, run: AlignedRun) {
        let (page, pages) = (run.first.0, run.pages());
        if self.leaves.remove(&(space.0, page)).is_some() {
            self.object.ask(|table| {
                table
                    .call_method1("unmap", (space.0, page, pages))
                    .map(drop)
            });
        }
    }

    fn end(&mut self, space: SpaceId) {
        self.leaves.retain(|(of, _), _| *of != space.0);
        self.object
            .ask(|table| table.call_method1("end", (space.0,)).map(drop));
    }

    fn walk(
        &mut self,
        space: SpaceId,
        page: PageNumber,
        reads: &mut dyn FnMut(TableRead),
    ) -> Option<Leaf> {
        let leaf = self.leaf(space, page);
        let mapped = leaf.as_ref().map(described);
        let read = self.object.ask(|table| {
            let reads = table.call_method1("walk", (space.0, page.0, mapped))?;
            let read = |read: PyResult<Bound<'_, PyAny>>| {
                let (address, bytes, begins_node) = read?.extract()?;
                Ok(TableRead {
                    address,
                    bytes,
                    begins_node,
                })
            };
            reads.try_iter()?.map(read).collect::<PyResult<Vec<_>>>()
        });
        for read in read.into_iter().flatten() {
            reads(read);
        }
        leaf
    }

    fn size(&self) -> TableSize {
        let size = self
            .object
            .ask(|table| table.call_method0("size")?.extract());
        let (nodes, bytes) = size.unwrap_or_default();
        TableSize::of(nodes, bytes)
    }
}
