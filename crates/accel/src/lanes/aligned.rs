//! Entries in memory that begins at a cache line, so that no register of them crosses a line.

use std::ops::{Deref, DerefMut};

use super::entry::EMPTY;

/// The bytes of a cache line.
const LINE: usize = 64;
/// The entries of a cache line.
const LINE_ENTRIES: usize = LINE / size_of::<u32>();

/// Entries that begin at a cache line.
#[derive(Debug)]
pub(super) struct LineAligned {
    /// The entries, and before them the rest of a line.
    memory: Vec<u32>,
    start: usize,
}

impl LineAligned {
    /// That many empty entries.
    pub(super) fn empty(count: usize) -> Self {
        let mut memory: Vec<u32> = Vec::with_capacity(count + LINE_ENTRIES);
        // The standard library may not find the place, and then no place is better than another.
        let start = memory.as_ptr().align_offset(LINE);
        let start = if start < LINE_ENTRIES { start } else { 0 };
        memory.resize(start + count, EMPTY);
        Self { memory, start }
    }
}

impl Clone for LineAligned {
    fn clone(&self) -> Self {
        let mut clone = Self::empty(self.len());
        clone.copy_from_slice(self);
        clone
    }
}

impl Deref for LineAligned {
    type Target = [u32];

    #[inline]
    fn deref(&self) -> &[u32] {
        &self.memory[self.start..]
    }
}

impl DerefMut for LineAligned {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u32] {
        &mut self.memory[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_and_their_clones_begin_at_a_line() {
        for count in [0, 1, 16, 1000] {
            let mut entries = LineAligned::empty(count);
            entries
                .iter_mut()
                .zip(0..)
                .for_each(|(entry, number)| *entry = number);
            let clone = entries.clone();
            for one in [&entries, &clone] {
                assert!(one.as_ptr().addr().is_multiple_of(LINE));
                assert!(one.iter().copied().eq(0..count as u32));
            }
        }
    }
}
