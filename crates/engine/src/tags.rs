//! Which tag each living address space has in the TLBs.

use broadleaf_translation::SpaceTag;
use broadleaf_units::SpaceId;
use std::collections::BTreeMap;

/// Tags of address spaces. One that ended gives its tag back: by then no TLB holds anything under it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tags {
    living: BTreeMap<SpaceId, SpaceTag>,
    free: Vec<SpaceTag>,
}

impl Tags {
    /// The tag of a space, given to it now where it has none; `None` where all are taken.
    pub(crate) fn give(&mut self, space: SpaceId) -> Option<SpaceTag> {
        if let Some(tag) = self.living.get(&space) {
            return Some(*tag);
        }
        let tag = self
            .free
            .pop()
            .or_else(|| SpaceTag::new(self.living.len()))?;
        self.living.insert(space, tag);
        Some(tag)
    }

    /// The tag of a space; `None` where it was never referenced, so that no TLB knows it.
    pub(crate) fn get(&self, space: SpaceId) -> Option<SpaceTag> {
        self.living.get(&space).copied()
    }

    /// Takes a space's tag back.
    pub(crate) fn take_back(&mut self, space: SpaceId) {
        self.free.extend(self.living.remove(&space));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_unique_among_the_living_and_used_again() {
        let mut tags = Tags::default();
        for space in 0..SpaceTag::COUNT as u32 {
            assert_eq!(tags.give(SpaceId(space)), SpaceTag::new(space as usize));
        }
        assert_eq!(tags.give(SpaceId(u32::MAX)), None);
        tags.take_back(SpaceId(7));
        assert_eq!(tags.get(SpaceId(7)), None);
        assert_eq!(tags.give(SpaceId(u32::MAX)), SpaceTag::new(7));
        assert_eq!(tags.give(SpaceId(8)), SpaceTag::new(8));
    }
}
