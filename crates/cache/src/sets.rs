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

    /// The entry of a line, to be changed without a use.
    fn find_mut(&mut self, line: u64) -> Option<&mut LineEntry>;

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
        first_way(&self.entries[first..first + self.ways], |entry| {
            entry.is_of(key)
        })
    }
}

/// The first way of a set with this property. The usual numbers of ways are compiled on their own.
#[inline]
fn first_way(entries: &[LineEntry], wanted: impl Fn(LineEntry) -> bool) -> Option<usize> {
    match entries.len() {
        4 => first_of::<4>(entries, wanted),
        8 => first_of::<8>(entries, wanted),
        12 => first_of::<12>(entries, wanted),
        16 => first_of::<16>(entries, wanted),
        _ => entries.iter().position(|entry| wanted(*entry)),
    }
}

/// Any way is equally likely, so a branch on the way would be mispredicted most of the time.
#[inline]
fn first_of<const WAYS: usize>(
    entries: &[LineEntry],
    wanted: impl Fn(LineEntry) -> bool,
) -> Option<usize> {
    let entries = entries.first_chunk::<WAYS>()?;
    let mut ways = 0_u32;
    for (way, entry) in entries.iter().enumerate() {
        ways |= u32::from(wanted(*entry)) << way;
    }
    (ways != 0).then(|| ways.trailing_zeros() as usize)
}

impl<R: LineRule + 'static> CacheArray for Sets<R> {
    #[inline]
    fn touch(&mut self, line: u64, stores: bool) -> Option<LineEntry> {
        let set = self.set_of(line);
        if let Some(newest) = self.rule.newest(set) {
            let entry = &mut self.entries[set * self.ways + newest];
            if entry.is_of(LineEntry::key(line)) {
                *entry = entry.modified_if(stores);
                return Some(*entry);
            }
        }
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

    fn find_mut(&mut self, line: u64) -> Option<&mut LineEntry> {
        let set = self.set_of(line);
        let way = self.way_of(set, line)?;
        Some(&mut self.entries[set * self.ways + way])
    }

    fn load(&mut self, entry: LineEntry) -> Option<LineEntry> {
        let set = self.set_of(entry.line());
        let first = set * self.ways;
        let entries = &mut self.entries[first..first + self.ways];
        let unused = first_way(entries, |entry| !entry.is_used());
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
