//! Shared memory between processes: its numbers, and the mappings that children inherit.

use crate::{Backing, Mapping, Pages};
use broadleaf_units::SpaceId;
use std::collections::BTreeMap;

/// The number of a shared memory without a file, in the order in which a trace makes them. A trace
/// does not name shared memory. Two mappings show one memory if the first existed at a `fork` and
/// the second is the child's copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemoryId(pub u32);

/// The mappings of shared memory that children inherit, and the number of each memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memories {
    made: u32,
    /// Shared mappings of children that have not begun, by process id, each with the parent's
    /// space.
    forked: BTreeMap<u32, (SpaceId, Vec<Mapping>)>,
    /// Processes that began or were forked. The value is true if the process began before its fork
    /// was seen.
    seen: BTreeMap<u32, bool>,
    /// The number of mapped pages that show each memory. Inherited mappings that the trace has not
    /// listed yet are included.
    shown: BTreeMap<MemoryId, u64>,
    /// Inherited mappings of running spaces that the trace has not listed yet.
    begun: BTreeMap<SpaceId, Vec<Mapping>>,
}

impl Memories {
    /// Counts the pages of a new mapping.
    pub(crate) fn show(&mut self, mapping: &Mapping) {
        if let Some(memory) = mapping.backing.memory()
            && !mapping.pages.is_empty()
        {
            *self.shown.entry(memory).or_default() += mapping.pages.len();
        }
    }

    /// Uncounts the pages of removed mappings. Returns the memories that no mapping shows any more.
    pub(crate) fn hide(&mut self, mappings: &[Mapping]) -> Vec<MemoryId> {
        let mut gone = Vec::new();
        for mapping in mappings {
            if let Some(memory) = mapping.backing.memory()
                && let Some(shown) = self.shown.get_mut(&memory)
            {
                *shown = shown.saturating_sub(mapping.pages.len());
                if *shown == 0 {
                    self.shown.remove(&memory);
                    gone.push(memory);
                }
            }
        }
        gone
    }

    /// Notes a fork of a space that has these mappings of shared memory, in order. Returns the
    /// mappings of an earlier child with the same process id that never began. A child that began
    /// before its fork was seen inherits nothing.
    pub(crate) fn fork(
        &mut self,
        parent: SpaceId,
        child: u32,
        shared: Vec<Mapping>,
    ) -> Vec<Mapping> {
        if self.seen.insert(child, false) == Some(true) {
            return Vec::new();
        }
        let unlisted = self.begun.get(&parent).into_iter().flatten();
        let all: Vec<Mapping> = (joined(shared).into_iter())
            .chain(unlisted.copied())
            .collect();
        all.iter().for_each(|mapping| self.show(mapping));
        let before = self.forked.insert(child, (parent, all));
        before.map_or_else(Vec::new, |(_, shared)| shared)
    }

    /// Begins a process in a space. If the space was used before, its process has ended.
    pub(crate) fn begin(&mut self, space: SpaceId, process: u32) {
        match self.forked.remove(&process) {
            Some((_, shared)) => {
                self.begun.insert(space, shared);
            }
            None => {
                self.seen.entry(process).or_insert(true);
            }
        }
    }

    /// Ends a space. Returns its inherited mappings that the trace never listed, and those of its
    /// children that have not begun.
    pub(crate) fn end(&mut self, space: SpaceId) -> Vec<Mapping> {
        let mut had = self.begun.remove(&space).unwrap_or_default();
        self.forked.retain(|_, (parent, shared)| {
            let stays = *parent != space;
            if !stays {
                had.append(shared);
            }
            stays
        });
        had
    }

    /// The backing of a listed mapping of shared memory: the inherited memory, or new memory. The
    /// caller counts the mapping next with [`Memories::show`].
    pub(crate) fn backing(&mut self, space: SpaceId, pages: Pages) -> Backing {
        let begun = self.begun.get_mut(&space);
        let found = begun.and_then(|shared| {
            let at = shared
                .iter()
                .position(|mapping| mapping.pages.covers(pages))?;
            let whole = shared.swap_remove(at);
            let rest = whole.pages.without(pages);
            let rest = rest.into_iter().filter(|pages| !pages.is_empty());
            shared.extend(rest.map(|pages| whole.part(pages)));
            Some(whole.part(pages))
        });
        if let Some(listed) = found
            && let Some(memory) = listed.backing.memory()
            && let Some(shown) = self.shown.get_mut(&memory)
        {
            *shown = shown.saturating_sub(listed.pages.len());
        }
        found.map(|listed| listed.backing).unwrap_or_else(|| {
            let memory = MemoryId(self.made);
            self.made += 1;
            Backing::SharedMemory { memory, offset: 0 }
        })
    }

    /// Asserts that the counts match these mappings and the inherited ones that are not listed yet.
    pub(crate) fn check(&self, listed: impl Iterator<Item = Mapping>) {
        let mut shown: BTreeMap<MemoryId, u64> = BTreeMap::new();
        let forked = self.forked.values().flat_map(|(_, shared)| shared);
        for mapping in listed.chain(forked.chain(self.begun.values().flatten()).copied()) {
            if let Some(memory) = mapping.backing.memory() {
                *shown.entry(memory).or_default() += mapping.pages.len();
            }
        }
        assert_eq!(self.shown, shown, "shared memory that is shown");
    }
}

/// Joins adjacent mappings of one shared memory. The trace lists a child's mappings with the
/// child's rights and boundaries.
fn joined(shared: Vec<Mapping>) -> Vec<Mapping> {
    let mut all: Vec<Mapping> = Vec::new();
    for mapping in shared {
        match all.last_mut() {
            Some(last) if last.goes_on_with(&mapping) => last.pages.end = mapping.pages.end,
            _ => all.push(mapping),
        }
    }
    all
}
