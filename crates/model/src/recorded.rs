//! The page tables of a recorded system, as far as a trace has reported them.

use broadleaf_trace::GuestLeaf;
use broadleaf_units::{PageNumber, PageSize, SpaceId};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Returns true if a page lies in the upper half of the addresses, where the kernel lives.
#[inline]
pub(crate) const fn is_kernels(page: PageNumber) -> bool {
    page.0 >> 51 != 0
}

/// The kernel's space, and the leaves of all spaces.
pub(crate) struct RecordedSystem {
    pub(crate) kernel: SpaceId,
    /// The leaves of each space, by first page and logarithm of the size.
    leaves: BTreeMap<SpaceId, BTreeMap<(u64, u8), GuestLeaf>>,
}

impl RecordedSystem {
    pub(crate) fn new(kernel: SpaceId) -> Self {
        Self {
            kernel,
            leaves: BTreeMap::new(),
        }
    }

    /// Notes a leaf of the running space or the kernel. Returns its space, and true if the place
    /// had another leaf of this size.
    pub(crate) fn note(&mut self, leaf: &GuestLeaf, running: SpaceId) -> (SpaceId, bool) {
        let page = PageNumber(leaf.start.0 >> PageSize::SIZE_4K.shift());
        let space = if is_kernels(page) {
            self.kernel
        } else {
            running
        };
        let leaves = self.leaves.entry(space).or_default();
        let changed = match leaves.entry((page.0, leaf.shift)) {
            Entry::Vacant(place) => {
                place.insert(*leaf);
                false
            }
            Entry::Occupied(mut place) => place.insert(*leaf) != *leaf,
        };
        (space, changed)
    }

    /// Forgets the leaves of spaces that ended.
    pub(crate) fn forget(&mut self, ended: &[SpaceId]) {
        for space in ended {
            self.leaves.remove(space);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_units::{Rights, VirtAddr};

    #[test]
    fn leaves_end_with_their_space() {
        let leaf = |physical| GuestLeaf {
            start: VirtAddr(9 << 12),
            shift: 12,
            physical,
            rights: Rights::READ_WRITE,
            user: true,
            global: false,
        };
        let mut system = RecordedSystem::new(SpaceId(0));
        let space = SpaceId(1);
        assert_eq!(system.note(&leaf(4096), space), (space, false));
        assert_eq!(system.note(&leaf(8192), space), (space, true));
        system.forget(&[space]);
        assert_eq!(system.note(&leaf(4096), space), (space, false));
    }
}
