//! Heat for a governor: a thread measures the processes in turns, and the governor takes the newest
//! measurement of a process when it reads the process's memory.

use super::{BlockHeat, HeatMeter, HeatSource, NoHeat, ProcessHeat, is_counted};
use crate::kernel::{Kernel, KernelError};
use crate::linux::Linux;
use crate::seen::{LivePages, ProcessId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The span of time of a measurement.
const WINDOW: Duration = Duration::from_secs(1);
/// The rest after a measurement, as a multiple of its processor time.
const REST: u32 = 20;
/// The windows after which a process that cannot be measured any more has no known use.
const STALE: u32 = 5;
/// The windows after which a process with a coarser source tries the ones before it again.
const AGAIN: u32 = 60;
/// The greatest number of notes of each kind. A tree of many processes would fill the log.
const NOTES: usize = 16;
/// The number of processes above which those that have ended are forgotten.
const MANY: usize = 256;

/// A change of how the use of a process is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeatChange<'a> {
    /// The source that works now. `None` if the use cannot be seen.
    pub source: Option<HeatSource>,
    /// The reason why the sources before it do not work. Empty if it is the first source.
    pub reason: &'a str,
}

/// A thread that measures the use of blocks. Dropping it ends the thread.
#[derive(Debug)]
pub struct HeatSampler {
    shared: Arc<SharedSamples>,
    meter: HeatMeter,
    thread: Option<JoinHandle<()>>,
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
    /// Measurements that were not taken yet. One without blocks says that nothing is known.
    done: BTreeMap<ProcessId, Vec<BlockHeat>>,
    failing: BTreeMap<ProcessId, FailingProcess>,
}

impl HeatSampler {
    /// Starts the thread, which measures each process by the first of `sources` that works for it,
    /// and tries the ones before again once a minute. `note` gets the changes. The sampler ends the
    /// meter and its clones.
    pub fn new(
        meter: HeatMeter,
        sources: Vec<HeatSource>,
        note: impl FnMut(ProcessId, HeatChange<'_>) + Send + 'static,
    ) -> Self {
        Self::with_window(meter, sources, WINDOW, note)
    }

    /// Starts the thread, with another span of time for a measurement.
    pub(super) fn with_window(
        meter: HeatMeter,
        sources: Vec<HeatSource>,
        window: Duration,
        note: impl FnMut(ProcessId, HeatChange<'_>) + Send + 'static,
    ) -> Self {
        let shared = Arc::new(SharedSamples::default());
        let sampling = Sampling {
            shared: shared.clone(),
            meter: meter.clone(),
            sources,
            window,
            coarser: BTreeMap::new(),
            forgot: Instant::now(),
            noted: [0; 2],
            note,
        };
        Self {
            shared,
            meter,
            thread: Some(std::thread::spawn(move || sampling.run())),
        }
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

    /// Forgets all processes for which `is_wanted` returns false. Without this call, measurements
    /// of processes that are not read any more stay until there are many.
    pub fn retain(&self, is_wanted: impl Fn(ProcessId) -> bool) {
        self.shared.lock().retain(is_wanted);
    }
}

impl Samples {
    fn retain(&mut self, is_wanted: impl Fn(ProcessId) -> bool) {
        self.asked.retain(|process, _| is_wanted(*process));
        self.done.retain(|process, _| is_wanted(*process));
        self.failing.retain(|process, _| is_wanted(*process));
    }
}

impl Drop for HeatSampler {
    fn drop(&mut self) {
        self.shared.lock().has_ended = true;
        self.shared.changed.notify_one();
        self.meter.end();
        // The thread removes its kdamond before it ends, also if it panics.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// A process that cannot be measured.
#[derive(Debug)]
struct FailingProcess {
    /// The time of the first failure since the latest measurement.
    since: Instant,
    reason: String,
    /// True if its use is not known any more.
    is_stale: bool,
}

/// A process that the first source does not measure.
#[derive(Clone, Copy, Debug)]
struct CoarserSource {
    /// The place of its source among all.
    index: usize,
    /// The time when the sources before were tried last.
    tried: Instant,
}

/// The thread's part of a sampler.
struct Sampling<N> {
    shared: Arc<SharedSamples>,
    meter: HeatMeter,
    sources: Vec<HeatSource>,
    window: Duration,
    coarser: BTreeMap<ProcessId, CoarserSource>,
    /// The time of the last search for processes that have ended.
    forgot: Instant,
    /// The number of notes so far, of failures and of other sources.
    noted: [usize; 2],
    note: N,
}

impl<N: FnMut(ProcessId, HeatChange<'_>)> Sampling<N> {
    /// Measures processes in turns until the sampler ends.
    fn run(mut self) {
        let mut linux = Linux::at(self.meter.proc.clone());
        let mut last = None;
        while let Some((process, pages)) = self.shared.next(last) {
            last = Some(process);
            // Some sources fail if there is nothing to measure.
            if !pages.mapped().any(|(mapping, _)| is_counted(mapping)) {
                continue;
            }
            let first = self.first_to_try(process);
            let sources = self.sources.get(first..).unwrap_or_default();
            let cpu = linux.own_cpu();
            let heat = (self.meter).measure(&mut linux, process, &pages, self.window, sources);
            // A process that has ended leaves no open descriptor.
            let is_gone = linux.vitals(process) == Err(KernelError::Gone);
            match heat {
                _ if is_gone => {
                    self.coarser.remove(&process);
                    self.shared.lock().failing.remove(&process);
                }
                Ok(heat) => {
                    self.measured(process, &heat, first == 0);
                    let mut samples = self.shared.lock();
                    samples.failing.remove(&process);
                    samples.done.insert(process, heat.blocks);
                }
                Err(reasons) => self.failed(process, &reasons),
            }
            linux.let_go(process);
            self.forget_ended(&mut linux);
            let spent = linux.own_cpu().saturating_sub(cpu);
            self.shared.rest(spent * REST);
        }
    }

    /// The place of the first source to try for a process. Those before its latest source are tried
    /// again seldom: their failures take time.
    fn first_to_try(&self, process: ProcessId) -> usize {
        let known = self.coarser.get(&process);
        let known = known.filter(|known| known.tried.elapsed() < self.window * AGAIN);
        known.map_or(0, |known| known.index)
    }

    /// Forgets processes that have ended, if many are known.
    fn forget_ended(&mut self, linux: &mut Linux) {
        let mut known: BTreeSet<ProcessId> = self.coarser.keys().copied().collect();
        {
            let samples = self.shared.lock();
            known.extend(samples.done.keys().chain(samples.failing.keys()));
        }
        if known.len() > MANY && self.forgot.elapsed() >= self.window * AGAIN {
            self.forgot = Instant::now();
            // The governor does not wait for these reads.
            known.retain(|process| linux.vitals(*process) == Err(KernelError::Gone));
            self.coarser.retain(|process, _| !known.contains(process));
            self.shared
                .lock()
                .retain(|process| !known.contains(&process));
        }
    }

    /// Keeps the source of a process, and notes it if it is another one than before.
    fn measured(&mut self, process: ProcessId, heat: &ProcessHeat, from_first: bool) {
        let place = |source: &HeatSource| *source == heat.source;
        let index = self.sources.iter().position(place).unwrap_or(0);
        let before = self.coarser.remove(&process);
        if index > 0 {
            let tried = before.filter(|_| !from_first).map(|before| before.tried);
            let tried = tried.unwrap_or_else(Instant::now);
            self.coarser.insert(process, CoarserSource { index, tried });
        }
        if before.map_or(0, |before| before.index) != index {
            self.note(process, Some(heat.source), &joined(&heat.refused));
        }
    }

    /// Passes a change on, unless there were many of its kind.
    fn note(&mut self, process: ProcessId, source: Option<HeatSource>, reason: &str) {
        let noted = &mut self.noted[usize::from(source.is_some())];
        if *noted == NOTES {
            return;
        }
        *noted += 1;
        let last = match *noted {
            NOTES => "; later changes are not noted",
            _ => "",
        };
        let reason = &format!("{reason}{last}");
        (self.note)(process, HeatChange { source, reason });
    }

    /// Notes why a process could not be measured. Its use is unknown if it fails for long.
    fn failed(&mut self, process: ProcessId, reasons: &[NoHeat]) {
        if self.shared.lock().has_ended {
            return;
        }
        // The next turn tries all sources.
        self.coarser.remove(&process);
        let reason = joined(reasons);
        let is_new = {
            let samples = self.shared.lock();
            let before = samples.failing.get(&process);
            before.is_none_or(|before| without_counts(&before.reason) != without_counts(&reason))
        };
        if is_new {
            self.note(process, None, &reason);
        }
        let mut samples = self.shared.lock();
        let failing = samples.failing.entry(process).or_insert(FailingProcess {
            since: Instant::now(),
            reason: String::new(),
            is_stale: false,
        });
        failing.reason = reason;
        if !failing.is_stale && failing.since.elapsed() >= self.window * STALE {
            failing.is_stale = true;
            samples.done.insert(process, Vec::new());
        }
    }
}

impl SharedSamples {
    fn lock(&self) -> std::sync::MutexGuard<'_, Samples> {
        self.samples.lock().unwrap_or_else(PoisonError::into_inner)
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

/// A reason without its numbers, which change with every measurement.
fn without_counts(reason: &str) -> String {
    reason.replace(|letter: char| letter.is_ascii_digit(), "")
}

/// The reasons of the sources, as one text.
fn joined(refused: &[NoHeat]) -> String {
    let reasons: Vec<String> = refused.iter().map(ToString::to_string).collect();
    reasons.join("; ")
}
