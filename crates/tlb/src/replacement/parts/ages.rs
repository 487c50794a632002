//! Ages of ways: the order of their last use or of their fills.

use crate::replacement::WayUse;

/// A time for each way of each set. A later time is larger.
#[derive(Clone, Debug)]
pub(in crate::replacement) struct WayAges {
    ways: usize,
    /// Set after set.
    times: Vec<u64>,
    now: u64,
}

impl WayAges {
    pub(in crate::replacement) fn new(sets: usize, ways: usize) -> Self {
        Self {
            ways,
            times: vec![0; sets * ways],
            now: 0,
        }
    }

    /// Makes a way the newest.
    pub(in crate::replacement) fn renew(&mut self, set: usize, way: usize) {
        self.now += 1;
        self.times[set * self.ways + way] = self.now;
    }

    /// The oldest way that is not locked.
    pub(in crate::replacement) fn oldest(&self, set: usize, uses: &[WayUse]) -> usize {
        let times = &self.times[set * self.ways..][..self.ways];
        let mut oldest = (u64::MAX, 0);
        for (way, (time, found)) in times.iter().zip(uses).enumerate() {
            if *time < oldest.0 && *found != WayUse::Locked {
                oldest = (*time, way);
            }
        }
        oldest.1
    }
}
