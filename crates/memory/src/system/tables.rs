//! Frames of page tables, which can neither leave nor move: wired pages (Navarro 2002, on wired
//! page clustering).

use super::System;
use crate::AddressSpaces;

/// The largest order of a cluster of wired pages: 64 frames.
const CLUSTER: u8 = 6;
/// A cluster takes at most this fraction of memory. Otherwise one cluster takes nearly all of a
/// small memory.
const PART: u64 = 16;

/// The order of a cluster of wired pages in memory of `frames` frames.
pub(super) fn cluster_order(frames: u64) -> u8 {
    let largest = (frames / PART).checked_ilog2().unwrap_or(0);
    CLUSTER.min(largest as u8)
}

impl System<'_> {
    /// Allocates frames for page tables that were added, and frees the frames of those that are
    /// gone. If no frame is available, tables go without until one is: a program does not end for
    /// that.
    pub(super) fn settle_tables(&mut self, spaces: &AddressSpaces) {
        while (self.of_tables.len() as u64) < self.tables.len() {
            let Some(frame) = self.wired_pages.allocate(&mut self.buddy) else {
                if !self.preempt_any() && !self.reclaim(spaces, 1) {
                    return;
                }
                continue;
            };
            let cluster = frame.0 >> CLUSTER << CLUSTER;
            self.lose_cache(crate::frames::Frame(cluster), 1 << CLUSTER);
            self.of_tables.push(frame);
        }
        while self.of_tables.len() as u64 > self.tables.len() {
            let Some(frame) = self.of_tables.pop() else {
                return;
            };
            let freed = self.wired_pages.free(&mut self.buddy, frame);
            debug_assert!(freed.is_ok(), "a page table's frame was not one: {freed:?}");
        }
    }
}
