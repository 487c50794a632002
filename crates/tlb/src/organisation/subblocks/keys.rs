//! Keys of entries: a search of a set compares them before it reads an entry.

use super::super::subblock_entry::SubblockEntry;
use super::SubblockSets;
use crate::TlbRequest;
use broadleaf_units::{AlignedRun, Asid};

/// A number that differs between most blocks, and is not 0. Page numbers have 45 bits.
#[inline]
pub(super) const fn key_of(tag: Asid, run: AlignedRun) -> u64 {
    run.first.0 ^ (tag.number() as u64) << 45 ^ (run.size.shift() as u64) << 57 | 1 << 63
}

impl SubblockSets {
    /// Notes that a new entry takes a place.
    pub(super) fn note_new(&mut self, place: usize, tag: Asid, run: AlignedRun) {
        self.keys[place] = key_of(tag, run);
        self.hints.add(tag, run, place);
    }

    /// Notes that an entry left its place.
    pub(super) fn note_gone(&mut self, place: usize, gone: &SubblockEntry) {
        self.keys[place] = 0;
        self.hints.remove(gone.tag, gone.run);
    }

    /// The key of the entries that a lookup may find. `None` if any entry may have the page.
    #[inline]
    pub(super) fn key_around(&self, request: &TlbRequest, block: AlignedRun) -> Option<u64> {
        if self.is_exact(request) {
            return Some(key_of(request.tag, block));
        }
        let size = self.hints.only_size()?;
        Some(key_of(request.tag, AlignedRun::around(request.page, size)))
    }
}
