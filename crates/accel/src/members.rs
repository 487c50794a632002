//! Sets of policies of a team.

use broadleaf_memory::BlockId;

/// Some of the policies of a team, a bit for each.
pub(crate) type Members = u64;

/// The maximum number of policies in a team.
pub(crate) const MOST_MEMBERS: usize = Members::BITS as usize;

const _: () = assert!(MOST_MEMBERS <= crate::MOST_LANES);

/// The policies under which each block is a superpage.
#[derive(Clone, Debug, Default)]
pub(crate) struct Superpages(Vec<Members>);

impl Superpages {
    pub(crate) fn make_room(&mut self, count: usize) {
        if self.0.len() < count {
            self.0.resize(count, 0);
        }
    }

    #[inline]
    pub(crate) fn of(&self, block: BlockId) -> Members {
        self.0[block.index()]
    }

    pub(crate) fn put(&mut self, block: BlockId, members: Members) {
        self.0[block.index()] = members;
    }
}
