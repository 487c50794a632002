//! The invariants of a team.

use super::Team;
use crate::translation::TeamTranslation;
use broadleaf_memory::BlockId;
use broadleaf_model::stream::Stream;

impl Team<'_> {
    /// Asserts the invariants that hold between two items of the trace.
    pub(crate) fn check(&self, stream: &Stream) {
        for (member, cell) in self.cells.iter().enumerate() {
            let mut memory = cell.memory.clone();
            for (block, owed) in self.owed.iter().enumerate() {
                let block = BlockId(block as u32);
                if self.superpages.of(block) >> member & 1 != 0 {
                    memory.dirty_pages(block, owed.saturating_sub(1));
                }
            }
            memory.check(&stream.histories);
        }
        self.translations.iter().for_each(TeamTranslation::check);
        for number in 0..stream.spaces.blocks() as u32 {
            let block = BlockId(number);
            for (member, cell) in self.cells.iter().enumerate() {
                let noted = self.superpages.of(block) >> member & 1 != 0;
                assert_eq!(
                    noted,
                    cell.memory.is_promoted(block),
                    "a superpage is not noted"
                );
            }
        }
    }
}
