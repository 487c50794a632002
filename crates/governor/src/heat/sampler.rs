//! Heat for a governor: a thread measures the processes in turns, and the governor takes the newest
//! measurement of a process when it reads the process's memory.

use super::{BlockHeat, HeatMeter, HeatSource};
use crate::kernel::Kernel;
use crate::linux::Linux;
use crate::seen::{LivePages, ProcessId};
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The span of time of a measurement.
const WINDOW: Duration = Duration::from_secs(1);
/// The rest after a measurement, as a multiple of its processor time.
const REST: u32 = 20;

/// A thread that measures the use of blocks. Dropping it ends the thread after its measurement.
#[derive(Debug)]
pub struct HeatSampler {
    shared: Arc<SharedSamples>,
}

#[derive(Debug, Default)]
struct SharedSamples {
    samples: Mutex<Samples>,
    /// Signalled if a process was added, or the sampler ends.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Samples {
    has_ended: bool,
    /// The memory of each process at the latest reading. A process that is not read any more, such
    /// as one that has ended, is measured once more at most.
    asked: BTreeMap<ProcessId, LivePages>,
    /// Measurements that were not taken yet.
    done: BTreeMap<ProcessId, Vec<BlockHeat>>,
}

impl HeatSampler {
    /// Starts the thread, which uses `source` alone.
    pub fn new(meter: HeatMeter, source: HeatSource) -> Self {
        let shared = Arc::new(SharedSamples::default());
        let of_thread = shared.clone();
        std::thread::spawn(move || of_thread.measure(&meter, source));
        Self { shared }
    }

    /// Notes the memory of a process for the next measurement, and returns the newest measurement
    /// if there is one since the latest call.
    pub(crate) fn exchange(&self, process: ProcessId, pages: &LivePages) -> Option<Vec<BlockHeat>> {
        let mut samples = self.shared.lock();
        samples.asked.insert(process, pages.clone());
        self.shared.changed.notify_one();
        samples.done.remove(&process)
    }

    /// Returns true if there is a measurement of the process that was not taken yet.
    pub(crate) fn has(&self, process: ProcessId) -> bool {
        self.shared.lock().done.contains_key(&process)
    }
}

impl Drop for HeatSampler {
    fn drop(&mut self) {
        self.shared.lock().has_ended = true;
        self.shared.changed.notify_one();
    }
}

impl SharedSamples {
    fn lock(&self) -> std::sync::MutexGuard<'_, Samples> {
        self.samples.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Measures processes in turns until the sampler ends.
    fn measure(&self, meter: &HeatMeter, source: HeatSource) {
        let mut linux = Linux::new();
        let mut last = None;
        while let Some((process, pages)) = self.next(last) {
            last = Some(process);
            let cpu = linux.own_cpu();
            let heat = meter.measure(&mut linux, process, &pages, WINDOW, Some(source));
            if let Ok(heat) = heat {
                self.lock().done.insert(process, heat.blocks);
            }
            // A process that has ended leaves no descriptor behind.
            let _ = linux.vitals(process);
            let spent = linux.own_cpu().saturating_sub(cpu);
            self.rest(spent * REST);
        }
    }

    /// Waits for a process to measure: the one after `last`. Returns `None` at the end.
    fn next(&self, last: Option<ProcessId>) -> Option<(ProcessId, LivePages)> {
        let mut samples = self.lock();
        loop {
            if samples.has_ended {
                return None;
            }
            let later = samples.asked.keys().find(|id| Some(**id) > last).copied();
            let next = later.or_else(|| samples.asked.keys().next().copied());
            if let Some(next) = next {
                return samples.asked.remove_entry(&next);
            }
            samples = (self.changed.wait(samples)).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits for a time, or until the sampler ends.
    fn rest(&self, time: Duration) {
        let until = Instant::now() + time;
        let mut samples = self.lock();
        while !samples.has_ended {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(samples, left);
            samples = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
