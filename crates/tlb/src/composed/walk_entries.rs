//! Walk entries: entries of the page table above the leaves, in structures that hold translations
//! too.
//!
//! A walk entry is stored as a translation of its address range under the tag of the page table's
//! own entries ([`broadleaf_units::Asid::of_tables`]). So lookups of pages find none, and walk
//! entries and pages make room for each other by one replacement rule.

use super::Composed;
use crate::{EntryLookup, TlbRequest, Translation, Walk};
use broadleaf_units::PageSize;

impl Composed {
    /// Shortens a walk down to a leaf of a size. `spans` are the address ranges that an entry of
    /// each level above the base pages covers, smallest first. The walk begins at the lowest entry
    /// that a structure holds. The structures load the entries that the walk reads. Returns the
    /// number of entries above the leaf that the walk reads.
    pub fn shorten_walk(
        &mut self,
        request: &TlbRequest,
        leaf: PageSize,
        spans: &[PageSize],
    ) -> usize {
        let above = &spans[spans.partition_point(|span| *span <= leaf)..];
        if !self.has_walk_entries {
            self.log.counts.walk_reads += above.len() as u64 + 1;
            return above.len();
        }
        let request = TlbRequest::load(request.tag.of_tables(), request.page);
        let found = (above.iter()).position(|span| self.finds_walk_entry(&request, *span));
        let read = &above[..found.unwrap_or(above.len())];
        for span in read.iter().rev() {
            self.load_walk_entry(&request, *span);
        }
        self.log.counts.walk_entry_hits += u64::from(found.is_some());
        self.log.counts.walk_reads += read.len() as u64 + 1;
        read.len()
    }

    fn finds_walk_entry(&mut self, request: &TlbRequest, span: PageSize) -> bool {
        let mut holding =
            (self.structures.iter_mut()).filter(|placed| placed.walk_entries.contains(&span));
        holding.any(|placed| {
            let found = placed.entries.find(request, span, &mut self.log);
            matches!(found, EntryLookup::Hit(_))
        })
    }

    fn load_walk_entry(&mut self, request: &TlbRequest, span: PageSize) {
        let entry = Translation::plain(request.tag, request.page, span);
        let walk = Walk::alone(*request, entry);
        // By number, since settling a structure may change the others.
        for number in 0..self.structures.len() {
            if self.structures[number].walk_entries.contains(&span) {
                self.structures[number].entries.load(&walk, &mut self.log);
                self.settle(number);
            }
        }
    }
}
