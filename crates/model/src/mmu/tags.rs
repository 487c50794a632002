//! The tags of address spaces.

use broadleaf_units::{Asid, SpaceId};
use std::collections::BTreeMap;

/// The tags that the TLBs of a machine know address spaces by.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpaceTags {
    tags: BTreeMap<SpaceId, Asid>,
    /// The tags that were given.
    given: usize,
}

impl SpaceTags {
    /// The tag of a space, which receives one if it has none. Returns true if another space had the
    /// tag until now.
    #[inline]
    pub(super) fn give(&mut self, space: SpaceId) -> (Asid, bool) {
        if let Some(tag) = self.tags.get(&space) {
            return (*tag, false);
        }
        let tag = Asid::new(self.given % Asid::COUNT).unwrap_or_default();
        let is_reused = self.given >= Asid::COUNT;
        if is_reused {
            self.tags.retain(|_, other| *other != tag);
        }
        self.given += 1;
        self.tags.insert(space, tag);
        (tag, is_reused)
    }

    /// The tag of a space.
    pub(crate) fn get(&self, space: SpaceId) -> Option<Asid> {
        self.tags.get(&space).copied()
    }

    /// The spaces that have tags.
    pub(crate) fn spaces(&self) -> impl Iterator<Item = SpaceId> {
        self.tags.keys().copied()
    }

    /// Takes the tag of a space away.
    pub(super) fn remove(&mut self, space: SpaceId) -> Option<Asid> {
        self.tags.remove(&space)
    }

    /// The space of a tag.
    pub(crate) fn space_of(&self, tag: Asid) -> Option<SpaceId> {
        let mut known = self.tags.iter();
        known.find_map(|(space, known)| (*known == tag).then_some(*space))
    }
}
