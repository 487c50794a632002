//! What the governor asks of a kernel: the only way to live processes, for knowing and for doing.

use crate::seen::{BlockSeen, Headroom, MachineSeen, Pages, ProcessId, Vitals};
use broadleaf_policy::Refusal;
use std::ops::Range;
use std::time::Duration;

/// Why something could not be seen or done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum No {
    /// The process has ended.
    #[error("the process has ended")]
    Gone,
    /// It is a thread of the kernel.
    #[error("it is a thread of the kernel, which has no memory of its own")]
    KernelThread,
    /// The kernel does not allow it.
    #[error("the kernel does not allow it to this user")]
    NotAllowed,
    /// Any other answer, by its number.
    #[error("the kernel answered: {}", std::io::Error::from_raw_os_error(*.0))]
    Errno(i32),
}

/// A kernel and its processes. [`crate::Linux`] is the one that runs; tests have one that breaks in every way that a real one does.
pub trait Kernel {
    /// Time since some moment.
    fn now(&mut self) -> Duration;

    /// Processor time that this process has used.
    fn own_cpu(&mut self) -> Duration;

    /// What the machine looks like.
    fn machine(&mut self) -> MachineSeen;

    /// The process of that number, if there is one.
    fn process(&mut self, pid: u32) -> Option<ProcessId>;

    /// What is known of a process at no cost.
    ///
    /// # Errors
    /// [`No::Gone`] where it has ended.
    fn vitals(&mut self, process: ProcessId) -> Result<Vitals, No>;

    /// What the cgroup of a process leaves, if there is a limit.
    fn headroom(&mut self, process: ProcessId) -> Option<Headroom>;

    /// The processes that it started and that live.
    fn children(&mut self, process: ProcessId) -> Vec<ProcessId>;

    /// What its memory looks like.
    ///
    /// # Errors
    /// Where it has ended, or may not be looked at.
    fn pages(&mut self, process: ProcessId) -> Result<Pages, No>;

    /// Bytes that a process holds, of pages that others share its part alone; `None` where the kernel does not tell.
    fn held(&mut self, process: ProcessId) -> Option<u64>;

    /// The ranges of blocks for which the program asked for superpages, if the kernel heeds that.
    /// Without an answer all superpages count against budgets.
    fn asked(&mut self, _process: ProcessId) -> Vec<Range<u64>> {
        Vec::new()
    }

    /// What stands in some of its blocks now: an entry for each, in order, also for those that are empty.
    ///
    /// # Errors
    /// Where it has ended, or may not be looked at.
    fn blocks(&mut self, process: ProcessId, blocks: Range<u64>) -> Result<Vec<BlockSeen>, No>;

    /// The number of base pages of a block of anonymous memory that other processes map as well.
    /// The kernel's page of zeroes does not count: a superpage of it copies nothing.
    ///
    /// # Errors
    /// If the process has ended, or its memory may not be read.
    fn shared(&mut self, process: ProcessId, block: u64) -> Result<u32, No>;

    /// The reason for which the kernel can never make a superpage of a block, by the flags of its
    /// mapping; `None` where the flags allow one or are unknown.
    fn ruled_out(&mut self, _process: ProcessId, _block: u64) -> Option<Refusal> {
        None
    }

    /// Makes superpages of blocks that stand one behind the other.
    ///
    /// # Errors
    /// What the kernel answered. Some of the blocks may be superpages nevertheless.
    fn collapse(&mut self, process: ProcessId, blocks: Range<u64>) -> Result<(), No>;

    /// Breaks a superpage into base pages; those that hold zeroes alone are given back. Where the program broke it, which leaves all but what it gave
    /// back resident, they are given back as well.
    ///
    /// # Errors
    /// What the kernel answered.
    fn split(&mut self, process: ProcessId, block: u64) -> Result<(), No>;
}
