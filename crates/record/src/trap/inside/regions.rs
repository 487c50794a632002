//! The program's mappings: what backs each, and its protection.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;

/// What backs a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RegionKind {
    /// The memory file. Private files are copied into it, except large ones that are read alone.
    Memory,
    /// A file that is shared, or large and read alone, mapped at both places. Its pages are closed
    /// by protection alone.
    File,
    /// Code of a file, mapped once. Its pages are never closed.
    Code,
}

/// A mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) kind: RegionKind,
    /// The `PROT_` bits.
    pub(super) protection: i32,
    /// Processes that the program forks share it.
    pub(super) shared: bool,
    /// Its first contents are those of a file.
    pub(super) of_file: bool,
    /// The distance of its contents in the memory file from its address. It wraps around for
    /// contents that lie at a lower place than the address.
    pub(super) distance: u64,
    /// A process that the program forked has its contents too.
    pub(super) is_lent: bool,
}

impl Region {
    /// Returns true if misses of its pages count: the program can refer to it, and runs no code
    /// from it.
    pub(super) fn counts(&self) -> bool {
        self.kind != RegionKind::Code && self.protection & libc::PROT_EXEC == 0
    }

    /// The place of a part's contents in the memory file.
    pub(super) const fn contents(&self, part: &Range<u64>) -> Range<u64> {
        part.start.wrapping_add(self.distance)..part.end.wrapping_add(self.distance)
    }

    /// Returns true for a private file that was not copied.
    pub(super) fn is_private_file(&self) -> bool {
        self.kind == RegionKind::File && !self.shared
    }
}

/// The mappings, by address. No two overlap.
#[derive(Debug, Default)]
pub(super) struct Regions {
    all: BTreeMap<u64, (u64, Region)>,
    /// The mapping that was found last, with its first byte and its end. A miss asks for the same
    /// mapping several times.
    last: Cell<Option<(u64, u64, Region)>>,
}

impl Regions {
    /// The mapping of an address.
    pub(super) fn at(&self, address: u64) -> Option<Region> {
        if let Some((start, end, region)) = self.last.get()
            && (start..end).contains(&address)
        {
            return Some(region);
        }
        let (start, (end, region)) = self.all.range(..=address).next_back()?;
        if address >= *end {
            return None;
        }
        self.last.set(Some((*start, *end, *region)));
        Some(*region)
    }

    /// The mappings, to be changed.
    fn changed(&mut self) -> &mut BTreeMap<u64, (u64, Region)> {
        self.last.set(None);
        &mut self.all
    }

    /// The parts of a range that are mapped, in order.
    pub(super) fn within(&self, range: &Range<u64>) -> Vec<(Range<u64>, Region)> {
        let before = self.all.range(..=range.start).next_back();
        let first = before.map_or(range.start, |(start, _)| *start);
        let all = self.all.range(first..range.end.max(first));
        let parts = all.map(|(start, (end, region))| {
            let part = (*start).max(range.start)..(*end).min(range.end);
            (part, *region)
        });
        parts.filter(|(part, _)| !part.is_empty()).collect()
    }

    /// Every mapping, in order.
    pub(super) fn all(&self) -> Vec<(Range<u64>, Region)> {
        let all = self.all.iter();
        all.map(|(start, (end, region))| (*start..*end, *region))
            .collect()
    }

    /// Removes a range.
    pub(super) fn remove(&mut self, range: &Range<u64>) {
        for (part, region) in self.within(range) {
            let (start, end) = self.around(part.start);
            self.changed().remove(&start);
            if start < part.start {
                self.changed().insert(start, (part.start, region));
            }
            if part.end < end {
                self.changed().insert(part.end, (end, region));
            }
        }
    }

    fn around(&self, address: u64) -> (u64, u64) {
        let found = self.all.range(..=address).next_back();
        found.map_or((address, address), |(start, (end, _))| (*start, *end))
    }

    /// Adds a mapping in place of all others in its range. Neighbours that are alike are joined.
    pub(super) fn put(&mut self, range: Range<u64>, region: Region) {
        self.remove(&range);
        let Range { mut start, mut end } = range;
        if let Some((before, (middle, other))) = self.all.range(..start).next_back()
            && *middle == start
            && *other == region
        {
            start = *before;
        }
        if let Some((after, other)) = self.all.get(&end).copied()
            && other == region
        {
            self.changed().remove(&end);
            end = after;
        }
        self.changed().insert(start, (end, region));
    }

    /// Notes that a forked process has the contents of all shared memory from now on.
    pub(super) fn lend(&mut self) {
        let shared = self.changed().values_mut().filter(|(_, of)| of.shared);
        shared.for_each(|(_, of)| of.is_lent = of.kind == RegionKind::Memory);
    }

    /// Returns true if nothing is mapped in a range.
    pub(super) fn is_free(&self, range: &Range<u64>) -> bool {
        self.within(range).is_empty()
    }

    /// The highest free place of that many bytes below an address.
    pub(super) fn highest_free(&self, bytes: u64, below: u64, lowest: u64) -> Option<u64> {
        let mut end = below;
        for (start, (after, _)) in self.all.range(..below).rev() {
            if end.saturating_sub(*after) >= bytes {
                break;
            }
            end = end.min(*start);
        }
        let start = end.checked_sub(bytes)?;
        (start >= lowest).then_some(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn region(protection: i32) -> Region {
        Region {
            kind: RegionKind::Memory,
            protection,
            shared: false,
            of_file: false,
            distance: 0,
            is_lent: false,
        }
    }

    #[test]
    fn ranges_are_cut_and_joined() {
        let mut regions = Regions::default();
        regions.put(10..20, region(1));
        regions.put(20..30, region(1));
        assert_eq!(regions.all(), [(10..30, region(1))]);
        regions.put(14..16, region(3));
        assert_eq!(
            regions.all(),
            [
                (10..14, region(1)),
                (14..16, region(3)),
                (16..30, region(1))
            ]
        );
        assert_eq!(
            regions.within(&(12..15)),
            [(12..14, region(1)), (14..15, region(3))]
        );
        regions.remove(&(0..12));
        assert_eq!(regions.at(11), None);
        assert_eq!(regions.at(12), Some(region(1)));
        assert_eq!(regions.at(30), None);
        // The mapping that was found last is not remembered over a change.
        regions.put(12..14, region(0));
        assert_eq!(regions.at(12), Some(region(0)));
        regions.remove(&(12..14));
        assert_eq!(regions.at(12), None);
    }

    #[test]
    fn the_highest_free_place_is_found() {
        let mut regions = Regions::default();
        assert_eq!(regions.highest_free(10, 100, 0), Some(90));
        regions.put(90..100, region(1));
        regions.put(70..85, region(1));
        assert_eq!(regions.highest_free(5, 100, 0), Some(85));
        assert_eq!(regions.highest_free(6, 100, 0), Some(64));
        assert_eq!(regions.highest_free(71, 100, 0), None);
        assert_eq!(regions.highest_free(70, 100, 1), None);
    }
}
