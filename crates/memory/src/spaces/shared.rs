//! Shared memory in address spaces: its mappings, and its end with the last mapping.

use super::AddressSpaces;
use crate::{Backing, Change, GEOMETRY, Mapping, Pages};
use broadleaf_units::SpaceId;

impl AddressSpaces {
    /// Notes a fork: the child inherits the parent's mappings of shared memory, whenever the child
    /// begins. An earlier child with the same process id that never began is dropped.
    pub fn fork(&mut self, parent: SpaceId, child: u32) -> Vec<Change> {
        let shared = self.shared_in(parent, Pages::ALL);
        let abandoned = self.memories.fork(parent, child, shared);
        self.unshared(&abandoned)
    }

    /// Begins a process in a space.
    pub fn begin(&mut self, space: SpaceId, process: u32) {
        self.memories.begin(space, process);
    }

    /// The backing of a listed mapping of shared memory: the inherited memory of the range if there
    /// is one, else new memory.
    pub fn shared_memory(&mut self, space: SpaceId, pages: Pages) -> Backing {
        self.memories.backing(space, pages)
    }

    /// Removes the pages of a range. Pages of shared memory are removed for all processes
    /// (`MADV_REMOVE`).
    pub fn remove(&mut self, space: SpaceId, pages: Pages) -> Vec<Change> {
        let mut changes = self.discard(space, pages);
        for shared in self.shared_in(space, pages) {
            if let Backing::SharedMemory { memory, offset } = shared.backing {
                let start = offset >> GEOMETRY.base().shift();
                let end = start + shared.pages.len();
                changes.push(Change::Emptied(memory, Pages { start, end }));
            }
        }
        changes
    }

    /// The parts of a range of a space that are mapped to shared memory.
    pub(super) fn shared_in(&self, space: SpaceId, pages: Pages) -> Vec<Mapping> {
        let number = self.numbers.get(&space);
        let met = number.map(|number| self.spaces[*number].mappings.meeting(pages));
        let shared = |mapping: &&Mapping| mapping.backing.memory().is_some();
        let met = met.into_iter().flatten().filter(shared);
        met.map(|mapping| mapping.part(pages)).collect()
    }

    /// Uncounts removed mappings. Memory that no mapping shows any more is emptied.
    pub(super) fn unshared(&mut self, mappings: &[Mapping]) -> Vec<Change> {
        let gone = self.memories.hide(mappings).into_iter();
        gone.map(|memory| Change::Emptied(memory, Pages::ALL))
            .collect()
    }

    /// Asserts the invariants of shared memory.
    ///
    /// # Panics
    /// Panics if an invariant is broken.
    pub fn check(&self) {
        let listed = self.spaces.iter();
        let listed = listed.flat_map(|space| space.mappings.meeting(Pages::ALL));
        self.memories.check(listed.copied());
    }
}
