//! Invariants of a hierarchy, for tests.

use crate::CacheHierarchy;
use crate::lines::CacheLines;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

impl CacheHierarchy {
    /// Asserts the invariants that every kind of hierarchy keeps: no cache holds a line twice, the
    /// occupancy is that of the last level, and one core at most has modified copies of a line.
    ///
    /// # Panics
    /// If an invariant does not hold.
    pub fn check(&self) {
        let lines = self.lines();
        for (number, array) in lines.arrays.iter().enumerate() {
            let used = array.entries().iter().filter(|entry| entry.is_used());
            let numbers: Vec<u64> = used.map(|entry| entry.line()).collect();
            let distinct: BTreeSet<u64> = numbers.iter().copied().collect();
            assert_eq!(
                numbers.len(),
                distinct.len(),
                "a line is twice in cache {number}"
            );
        }
        check_occupancy(lines);
        check_copies(lines);
    }

    /// Asserts that each level holds all lines of the levels above it.
    ///
    /// # Panics
    /// If a line is missing.
    pub fn check_inclusion(&self) {
        let lines = self.lines();
        for path in lines.paths.iter().flatten() {
            for pair in path[..lines.levels].windows(2) {
                let [above, below] = [pair[0], pair[1]].map(|array| &lines.arrays[array as usize]);
                for entry in above.entries().iter().filter(|entry| entry.is_used()) {
                    assert!(
                        below.find(entry.line()).is_some(),
                        "line {:#x}",
                        entry.line()
                    );
                }
            }
        }
    }
}

fn check_occupancy(lines: &CacheLines) {
    let paths = lines.paths[0].iter();
    let last: BTreeSet<u16> = paths.map(|path| path[lines.levels - 1]).collect();
    for (core, occupancy) in lines.occupancy.iter().enumerate() {
        let all = last
            .iter()
            .flat_map(|array| lines.arrays[usize::from(*array)].entries());
        let own = all.filter(|entry| entry.is_used() && entry.core() == core);
        assert_eq!(own.count() as u64, *occupancy, "core {core}");
    }
}

fn check_copies(lines: &CacheLines) {
    for (core, own) in lines.private.iter().enumerate() {
        let own = own
            .iter()
            .flat_map(|cache| lines.arrays[cache.array].entries());
        for entry in own.filter(|entry| entry.is_used() && entry.is_alone()) {
            let others = (0..lines.private.len()).filter(|other| *other != core);
            let mut others = others.flat_map(|other| &lines.private[other]);
            let copy = others.find(|cache| lines.arrays[cache.array].find(entry.line()).is_some());
            assert!(
                copy.is_none(),
                "line {:#x} is not core {core}'s alone",
                entry.line()
            );
        }
    }
}
