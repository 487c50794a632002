//! The processor time of page faults on this machine, by trial in this process.
#![allow(unsafe_code, reason = "mappings of this process")]

use super::calls::MADV_COLLAPSE;
use std::ptr;
use std::time::Duration;

/// The size of a block: a huge page.
const BLOCK: usize = 2 << 20;
/// The size of a base page.
const PAGE: usize = 4 << 10;
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
    let memory = Memory::new(advice)?;
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
    let memory = Memory::new(libc::MADV_NOHUGEPAGE)?;
    memory.touch(PAGE);
    memory.advise(libc::MADV_HUGEPAGE)?;
    let began = thread_time();
    memory.advise(MADV_COLLAPSE)?;
    Some(thread_time().checked_sub(began)? / BLOCKS as u32)
}

/// Aligned blocks of anonymous memory of this process.
struct Memory {
    mapped: *mut libc::c_void,
    first: *mut u8,
}

impl Memory {
    /// The length of the mapping: one block more, for the alignment.
    const MAPPED: usize = (BLOCKS + 1) * BLOCK;

    /// Maps blocks and gives advice on them.
    fn new(advice: i32) -> Option<Self> {
        // SAFETY: a new mapping at a place that the kernel chooses.
        let mapped = unsafe {
            libc::mmap(
                ptr::null_mut(),
                Self::MAPPED,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if mapped == libc::MAP_FAILED {
            return None;
        }
        let bytes = mapped.cast::<u8>();
        let memory = Self {
            mapped,
            first: bytes.wrapping_add(bytes.align_offset(BLOCK)),
        };
        memory.advise(advice)?;
        Some(memory)
    }

    /// Gives advice on the blocks. Returns `None` if the kernel refuses.
    fn advise(&self, advice: i32) -> Option<()> {
        // SAFETY: the blocks are in the mapping, and no advice of this file drops their content.
        let answer = unsafe { libc::madvise(self.first.cast(), BLOCKS * BLOCK, advice) };
        (answer == 0).then_some(())
    }

    /// Writes a byte at each `step` bytes.
    fn touch(&self, step: usize) {
        for at in (0..BLOCKS * BLOCK).step_by(step) {
            // SAFETY: the byte is in the mapping, which nothing else uses.
            unsafe { self.first.add(at).write_volatile(1) };
        }
    }

    /// Returns true if all pages are resident after a touch of each `step` bytes.
    fn resident_pages(&self, step: usize) -> bool {
        if step == PAGE {
            return true;
        }
        let mut pages = [0_u8; BLOCKS * BLOCK / PAGE];
        // SAFETY: the vector has a byte for each page of the blocks, and the call writes no others.
        let answer =
            unsafe { libc::mincore(self.first.cast(), BLOCKS * BLOCK, pages.as_mut_ptr()) };
        answer == 0 && pages.iter().all(|page| page & 1 == 1)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own.
        unsafe { libc::munmap(self.mapped, Self::MAPPED) };
    }
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
fn faults() -> u64 {
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
