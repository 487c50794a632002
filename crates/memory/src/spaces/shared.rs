//! Memory that processes share: who has it mapped, and when nobody has it any more.

use super::AddressSpaces;
use crate::{Backing, Change, GEOMETRY, Mapping, Pages};
use broadleaf_units::SpaceId;

impl AddressSpaces {
    /// A space forks: the child finds what the parent has mapped of shared memory, whenever it is
    /// first heard of. Where another child of that number never began, it will not any more.
    pub fn fork(&mut self, parent: SpaceId, child: u32) -> Vec<Change> {
        let shared = self.shared_in(parent, Pages::ALL);
        let abandoned = self.memories.fork(parent, child, shared);
        self.unshared(&abandoned)
    }

    /// A space begins as that process.
    pub fn begin(&mut self, space: SpaceId, process: u32) {
        self.memories.begin(space, process);
    }

    /// What stands behind a mapping of shared memory that a space is told to have: what its parent
    /// had there where that was not told of yet, else memory that is new.
    pub fn shared_memory(&mut self, space: SpaceId, pages: Pages) -> Backing {
        self.memories.behind(space, pages)
    }

    /// The pages of a range go, and where they are of shared memory, nobody finds them any more
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

    /// These are no mappings any more: where no other shows the same memory, that is no more.
    pub(super) fn unshared(&mut self, mappings: &[Mapping]) -> Vec<Change> {
        let gone = self.memories.hide(mappings).into_iter();
        gone.map(|memory| Change::Emptied(memory, Pages::ALL))
            .collect()
    }

    /// Asserts what has to hold of memory that processes share.
    ///
    /// # Panics
    /// Where it does not hold.
    pub fn check(&self) {
        let told = self.spaces.iter();
        let told = told.flat_map(|space| space.mappings.meeting(Pages::ALL));
        self.memories.check(told.copied());
    }
}
