//! The sets of one cache, in flat arrays.

use crate::entry::LineEntry;
use crate::replacement::{CacheShape, LineRule};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// The entries of one cache, with its replacement rule.
///
/// Each replacement rule compiles its own copy of these verbs, so that an access makes one call for
/// each level.
pub trait CacheArray: Send + core::fmt::Debug {
    /// Looks a line up for an access. A hit counts as a use, and a store marks the line as
    /// modified. Returns the entry after a hit.
    fn touch(&mut self, line: u64, stores: bool) -> Option<LineEntry>;

    /// The entry of a line, without a use.
    fn find(&self, line: u64) -> Option<LineEntry>;

    /// Replaces the state of a line that the cache holds, without a use.
    fn set_state(&mut self, entry: LineEntry);

    /// Loads a line that the cache does not hold. Returns the line that makes room.
    fn load(&mut self, entry: LineEntry) -> Option<LineEntry>;

    /// Removes a line. Returns its entry, if the cache held it.
    fn take(&mut self, line: u64) -> Option<LineEntry>;

    /// Returns true if a second hit of the line that was used last can change the replacement.
    fn counts_repeats(&self) -> bool;

    /// All entries, used or not, set after set.
    fn entries(&self) -> &[LineEntry];
}

/// The sets of a cache under one replacement rule.
#[derive(Debug)]
pub(crate) struct Sets<R> {
    entries: Vec<LineEntry>,
    ways: usize,
    set_mask: u64,
    rule: R,
}

impl<R: LineRule + 'static> Sets<R> {
    /// Empty sets. The shape is validated: the number of sets is a power of two.
    pub(crate) fn boxed(shape: &CacheShape<'_>, rule: R) -> Box<dyn CacheArray> {
        Box::new(Self {
            entries: vec![LineEntry::UNUSED; shape.sets * shape.ways],
            ways: shape.ways,
            set_mask: shape.sets as u64 - 1,
            rule,
        })
    }

    #[inline]
    fn set_of(&self, line: u64) -> usize {
        (line & self.set_mask) as usize
    }

    #[inline]
    fn way_of(&self, set: usize, line: u64) -> Option<usize> {
        let key = LineEntry::key(line);
        let first = set * self.ways;
        let entries = &self.entries[first..first + self.ways];
        entries.iter().position(|entry| entry.is_of(key))
    }
}

impl<R: LineRule + 'static> CacheArray for Sets<R> {
    #[inline]
    fn touch(&mut self, line: u64, stores: bool) -> Option<LineEntry> {
        let set = self.set_of(line);
        let Some(way) = self.way_of(set, line) else {
            self.rule.miss(set);
            return None;
        };
        self.rule.hit(set, way);
        let entry = &mut self.entries[set * self.ways + way];
        *entry = entry.modified_if(stores);
        Some(*entry)
    }

    fn find(&self, line: u64) -> Option<LineEntry> {
        let set = self.set_of(line);
        let way = self.way_of(set, line)?;
        Some(self.entries[set * self.ways + way])
    }

    fn set_state(&mut self, entry: LineEntry) {
        let set = self.set_of(entry.line());
        if let Some(way) = self.way_of(set, entry.line()) {
            self.entries[set * self.ways + way] = entry;
        }
    }

    fn load(&mut self, entry: LineEntry) -> Option<LineEntry> {
        let set = self.set_of(entry.line());
        let first = set * self.ways;
        let entries = &mut self.entries[first..first + self.ways];
        let unused = entries.iter().position(|entry| !entry.is_used());
        let way = unused.unwrap_or_else(|| self.rule.victim(set));
        let left = core::mem::replace(&mut entries[way], entry);
        self.rule.fill(set, way);
        unused.is_none().then_some(left)
    }

    fn take(&mut self, line: u64) -> Option<LineEntry> {
        let set = self.set_of(line);
        let way = self.way_of(set, line)?;
        let entry = &mut self.entries[set * self.ways + way];
        Some(core::mem::take(entry))
    }

    fn counts_repeats(&self) -> bool {
        self.rule.counts_repeats()
    }

    fn entries(&self) -> &[LineEntry] {
        &self.entries
    }
}
