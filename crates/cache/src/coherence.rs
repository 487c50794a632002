//! Copies of one line in the private caches of several cores.
//!
//! A store leaves no copy in another core's private caches. Loads may share copies, of which one at
//! most is modified.

use crate::lines::CacheLines;

impl CacheLines {
    /// Removes a line from the private caches of all other cores. Returns true if one held it.
    pub(crate) fn others_lose(&mut self, core: usize, line: u64) -> bool {
        let mut is_found = false;
        for other in (0..self.private.len()).filter(|other| *other != core) {
            for cache in &self.private[other] {
                if self.arrays[cache.array].take(line).is_some() {
                    self.counts[other].levels[cache.level].invalidated += 1;
                    is_found = true;
                }
            }
        }
        is_found
    }

    /// Notes that a core gets a copy of a line. Returns true if another core's private caches hold
    /// the line.
    pub(crate) fn others_share(&mut self, core: usize, line: u64) -> bool {
        let mut is_found = false;
        for other in (0..self.private.len()).filter(|other| *other != core) {
            for cache in &self.private[other] {
                if let Some(held) = self.arrays[cache.array].find_mut(line) {
                    *held = held.alone_if(false);
                    is_found = true;
                }
            }
        }
        is_found
    }

    /// Returns true if the private caches of another core hold a line.
    pub(crate) fn others_hold(&mut self, core: usize, line: u64) -> bool {
        let arrays = &mut self.arrays;
        let others = self
            .private
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != core);
        let mut caches = others.flat_map(|(_, caches)| caches);
        caches.any(|cache| arrays[cache.array].find_mut(line).is_some())
    }

    /// Marks a core's own copies of a line as the only ones.
    pub(crate) fn becomes_alone(&mut self, core: usize, line: u64) {
        for cache in &self.private[core] {
            if let Some(held) = self.arrays[cache.array].find_mut(line) {
                *held = held.alone_if(true);
            }
        }
    }
}
