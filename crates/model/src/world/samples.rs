//! Samples of memory: its peak, and its use over time.

use super::World;
use broadleaf_memory::system::Sample;

/// The maximum number of samples of memory.
const MOST_SAMPLES: usize = 128;
/// The minimum number of accesses between the first samples.
pub(super) const FIRST_INTERVAL: u64 = 1 << 10;

impl World<'_> {
    /// Takes a sample of memory when its use exceeds the highest so far by a sixty-fourth. It also
    /// takes samples at intervals that keep their number small.
    pub(super) fn look_around(&mut self, time: u64) {
        let resident = self.system.counters().resident;
        let is_peak = resident > self.highest + self.highest / 64;
        if !is_peak && time < self.next_sample {
            return;
        }
        let sample = Sample {
            time,
            ..self.system.sample()
        };
        if is_peak {
            self.highest = resident;
            self.peak = sample.clone();
        }
        if time < self.next_sample {
            return;
        }
        self.samples.push(sample);
        if self.samples.len() == MOST_SAMPLES {
            let mut odd = false;
            self.samples.retain(|_| {
                odd = !odd;
                odd
            });
            self.interval *= 2;
        }
        self.next_sample = time.saturating_add(self.interval);
    }
}
