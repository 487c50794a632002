//! Memory that processes share: which it is, when a child is told of what its parent had mapped.

use crate::{Backing, Mapping, Pages};
use broadleaf_units::SpaceId;
use std::collections::BTreeMap;

/// Memory that processes share and no file stands behind, numbered in the order in which a trace
/// makes it. A trace does not name it: two mappings show the same where one was there at a `fork`
/// and the other is the child's copy of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemoryId(pub u32);

/// What children will be told of as mappings of shared memory, and which it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memories {
    made: u32,
    /// What children that have not begun have of it, by process id, each with its parent.
    forked: BTreeMap<u32, (SpaceId, Vec<Mapping>)>,
    /// Processes that began or were forked, and whether the first that was told of them was not the
    /// fork.
    heard: BTreeMap<u32, bool>,
    /// How many pages of mappings show each, those included that are still to be told of.
    shown: BTreeMap<MemoryId, u64>,
    /// What spaces that began have of it and were not told of yet.
    begun: BTreeMap<SpaceId, Vec<Mapping>>,
}

impl Memories {
    /// A mapping shows what it shows from now on.
    pub(crate) fn show(&mut self, mapping: &Mapping) {
        if let Some(memory) = mapping.backing.memory()
            && !mapping.pages.is_empty()
        {
            *self.shown.entry(memory).or_default() += mapping.pages.len();
        }
    }

    /// These mappings do not any more. Answers what no other shows.
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

    /// A process was forked off a space that has these mappings of shared memory, in order. Answers
    /// what another process of that number would have had, which will not begin any more. One that
    /// was heard of before began with nothing.
    pub(crate) fn fork(
        &mut self,
        parent: SpaceId,
        child: u32,
        shared: Vec<Mapping>,
    ) -> Vec<Mapping> {
        if self.heard.insert(child, false) == Some(true) {
            return Vec::new();
        }
        let untold = self.begun.get(&parent).into_iter().flatten();
        let all: Vec<Mapping> = (joined(shared).into_iter())
            .chain(untold.copied())
            .collect();
        all.iter().for_each(|mapping| self.show(mapping));
        let before = self.forked.insert(child, (parent, all));
        before.map_or_else(Vec::new, |(_, shared)| shared)
    }

    /// A process begins, in a space that has ended if there ever was one.
    pub(crate) fn begin(&mut self, space: SpaceId, process: u32) {
        match self.forked.remove(&process) {
            Some((_, shared)) => {
                self.begun.insert(space, shared);
            }
            None => {
                self.heard.entry(process).or_insert(true);
            }
        }
    }

    /// A space ended: what it had, and what children of it would have had that did not begin.
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

    /// What stands behind a mapping of shared memory that a space is told to have, which is to be
    /// shown next: what it began with, or some that is made here.
    pub(crate) fn behind(&mut self, space: SpaceId, pages: Pages) -> Backing {
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
        if let Some(told) = found
            && let Some(memory) = told.backing.memory()
            && let Some(shown) = self.shown.get_mut(&memory)
        {
            *shown = shown.saturating_sub(told.pages.len());
        }
        found.map(|told| told.backing).unwrap_or_else(|| {
            let memory = MemoryId(self.made);
            self.made += 1;
            Backing::SharedMemory { memory, offset: 0 }
        })
    }

    /// Asserts that as much is shown as is by these mappings and those that are still to be told
    /// of.
    pub(crate) fn check(&self, told: impl Iterator<Item = Mapping>) {
        let mut shown: BTreeMap<MemoryId, u64> = BTreeMap::new();
        let forked = self.forked.values().flat_map(|(_, shared)| shared);
        for mapping in told.chain(forked.chain(self.begun.values().flatten()).copied()) {
            if let Some(memory) = mapping.backing.memory() {
                *shown.entry(memory).or_default() += mapping.pages.len();
            }
        }
        assert_eq!(self.shown, shown, "shared memory that is shown");
    }
}

/// Mappings of shared memory in order, those joined that go on with the same: a child is told of
/// them with its own rights, and in pieces of its own.
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
