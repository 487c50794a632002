//! Keys of entries: a search of a set compares them before it reads an entry.

use super::super::subblock_entry::SubblockEntry;
use super::SubblockSets;
use crate::TlbRequest;
use broadleaf_units::{AlignedRun, Asid};
use std::ops::Range;

/// A number that differs between most blocks, and is not 0. Page numbers have 45 bits.
#[inline]
pub(super) const fn key_of(tag: Asid, run: AlignedRun) -> u64 {
    run.first.0 ^ (tag.number() as u64) << 45 ^ (run.size.shift() as u64) << 57 | 1 << 63
}

/// The most ways that are compared at once.
pub(super) const MOST_AT_ONCE: usize = u64::BITS as usize;

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

    /// The ways among these whose entries are of a block.
    pub(super) fn ways_with(
        &self,
        ways: Range<usize>,
        tag: Asid,
        run: AlignedRun,
    ) -> impl Iterator<Item = usize> + '_ {
        let is_held = self.hints.may_hold(tag, run);
        let ways = if is_held { ways } else { 0..0 };
        let is_of = move |entry: &SubblockEntry| (entry.tag, entry.run) == (tag, run);
        self.ways_of_key(ways, key_of(tag, run))
            .filter(move |way| self.entries[*way].as_ref().is_some_and(is_of))
    }

    /// The ways among these whose entries have a key.
    pub(super) fn ways_of_key(
        &self,
        ways: Range<usize>,
        key: u64,
    ) -> impl Iterator<Item = usize> + '_ {
        let after = ways.end;
        ways.step_by(MOST_AT_ONCE).flat_map(move |first| {
            let mut found = self.matches(first..after.min(first + MOST_AT_ONCE), key);
            std::iter::from_fn(move || {
                let at = (found != 0).then(|| found.trailing_zeros() as usize)?;
                found &= found - 1;
                Some(first + at)
            })
        })
    }

    /// A bit for each of these ways, the first one lowest: set if the way's entry has a key. There
    /// are at most [`MOST_AT_ONCE`].
    #[inline]
    pub(super) fn matches(&self, ways: Range<usize>, key: u64) -> u64 {
        let mut found = 0;
        // Without branches, so that several keys are compared at once.
        for (at, known) in self.keys[ways].iter().enumerate() {
            found |= u64::from(*known == key) << at;
        }
        found
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
