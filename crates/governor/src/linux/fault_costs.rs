//! The processor time of page faults on this machine, by trial in this process.
#![allow(unsafe_code, reason = "times of this thread")]

use super::calls::MADV_COLLAPSE;
use super::own_memory::{BLOCK, OwnMemory, PAGE};
use std::time::Duration;

/// The number of blocks of a trial.
const BLOCKS: usize = 16;
/// The number of trials. The median counts.
const TRIALS: usize = 5;

/// The processor time of page faults. A cost that cannot be measured here is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeasuredFaultCosts {
    /// A fault that maps a zeroed base page, and the removal of the page.
    pub base: Option<Duration>,
    /// A fault that maps a zeroed huge page, and the removal of the page.
    pub huge: Option<Duration>,
    /// The removal of a base page, which `base` includes.
    pub base_removal: Option<Duration>,
    /// The removal of a huge page, which `huge` includes.
    pub huge_removal: Option<Duration>,
    /// The copy of a block of resident base pages into a huge page.
    pub collapse: Option<Duration>,
}

/// Measures the costs of page faults in some 32 MiB of this process's memory, in a fraction of a
/// second. Huge pages must not be forbidden to this process.
pub fn measure_fault_costs() -> MeasuredFaultCosts {
    let base = trials(libc::MADV_NOHUGEPAGE, PAGE);
    let huge = trials(libc::MADV_HUGEPAGE, BLOCK);
    let whole = |trials: &[FaultTrial]| middle(trials.iter().map(|trial| trial.whole).collect());
    let removal = |trials: &[FaultTrial]| middle(trials.iter().map(|one| one.removal).collect());
    MeasuredFaultCosts {
        base: whole(&base),
        huge: whole(&huge),
        base_removal: removal(&base),
        huge_removal: removal(&huge),
        collapse: median(collapse),
    }
}

/// The times of a trial, for each page.
#[derive(Clone, Copy)]
struct FaultTrial {
    /// The fault and the removal.
    whole: Duration,
    removal: Duration,
}

/// The trials that succeeded, without the first one, which also warms up.
fn trials(advice: i32, step: usize) -> Vec<FaultTrial> {
    if trial(advice, step).is_none() {
        return Vec::new();
    }
    (0..TRIALS).filter_map(|_| trial(advice, step)).collect()
}

/// Returns the median of the trials that succeeded.
fn median(mut trial: impl FnMut() -> Option<Duration>) -> Option<Duration> {
    // The first trial also warms up.
    trial()?;
    middle((0..TRIALS).filter_map(|_| trial()).collect())
}

/// Returns the median.
fn middle(mut times: Vec<Duration>) -> Option<Duration> {
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}

/// Returns the times of a fault at each `step` bytes of memory with this advice. Returns `None` if
/// the kernel does not map memory in such steps.
fn trial(advice: i32, step: usize) -> Option<FaultTrial> {
    let faults = faults();
    let began = thread_time();
    let memory = OwnMemory::new(BLOCKS, advice)?;
    memory.touch(step);
    let resident = memory.resident_pages(step);
    let touched = thread_time();
    drop(memory);
    let ended = thread_time();
    let expected = BLOCKS * BLOCK / step;
    let made = self::faults().saturating_sub(faults);
    // Other faults of this thread are few. A huge page that was not made is 512 faults.
    let is_plausible = made >= expected as u64 && made <= 2 * expected as u64 + 64;
    let whole = ended.checked_sub(began)? / expected as u32;
    let removal = ended.checked_sub(touched)? / expected as u32;
    (is_plausible && resident).then_some(FaultTrial { whole, removal })
}

/// Returns the time to collapse a block of resident base pages.
fn collapse() -> Option<Duration> {
    let memory = OwnMemory::new(BLOCKS, libc::MADV_NOHUGEPAGE)?;
    memory.touch(PAGE);
    memory.advise(libc::MADV_HUGEPAGE)?;
    let began = thread_time();
    memory.advise(MADV_COLLAPSE)?;
    Some(thread_time().checked_sub(began)? / BLOCKS as u32)
}

/// Returns the processor time of this thread.
fn thread_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes to `time` alone.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Returns the page faults of this thread; 0 if the kernel does not count them.
pub(super) fn faults() -> u64 {
    // SAFETY: a structure of numbers, for which zeroes are values; the call writes to it alone.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        match libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) {
            0 => usage.ru_minflt as u64,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_huge_page_costs_more_than_a_base_page_and_less_than_all_of_its_pages() {
        let costs = measure_fault_costs();
        let base = costs.base.expect("base pages can always be measured");
        assert!(base > Duration::from_nanos(50), "{base:?}");
        let removal = costs.base_removal.expect("a part of the same trials");
        assert!(removal < base, "{removal:?} {base:?}");
        if let Some(huge) = costs.huge {
            assert!(huge > base, "{huge:?} {base:?}");
        }
        if let Some(collapse) = costs.collapse {
            assert!(collapse > base, "{collapse:?} {base:?}");
        }
    }
}
