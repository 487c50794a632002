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
    /// Walks the page table down to a leaf of a size. `spans` are the address ranges that an entry
    /// of each level above the base pages covers, smallest first. The walk begins at the lowest
    /// entry that a structure holds, and loads the entries that it reads.
    pub fn walk(&mut self, request: &TlbRequest, leaf: PageSize, spans: &[PageSize]) {
        let above = &spans[spans.partition_point(|span| *span <= leaf)..];
        let request = TlbRequest::load(request.tag.of_tables(), request.page);
        let found = (above.iter()).position(|span| self.finds_walk_entry(&request, *span));
        let read = &above[..found.unwrap_or(above.len())];
        for span in read.iter().rev() {
            self.load_walk_entry(&request, *span);
        }
        self.log.counts.walk_entry_hits += u64::from(found.is_some());
        self.log.counts.walk_reads += read.len() as u64 + 1;
    }

    fn holding_walk_entries(&self, span: PageSize) -> impl Iterator<Item = usize> + use<> {
        let holds = self.structures.iter().enumerate();
        let holds = holds.filter(|(_, placed)| placed.walk_entries.contains(&span));
        let holding: Vec<usize> = holds.map(|(number, _)| number).collect();
        holding.into_iter()
    }

    fn finds_walk_entry(&mut self, request: &TlbRequest, span: PageSize) -> bool {
        self.holding_walk_entries(span).any(|number| {
            let entries = &mut self.structures[number].entries;
            matches!(
                entries.find(request, span, &mut self.log),
                EntryLookup::Hit(_)
            )
        })
    }

    fn load_walk_entry(&mut self, request: &TlbRequest, span: PageSize) {
        let entry = Translation::plain(request.tag, request.page, span);
        let walk = Walk::alone(*request, entry);
        for number in self.holding_walk_entries(span) {
            self.structures[number].entries.load(&walk, &mut self.log);
            self.settle(number);
        }
    }
}
