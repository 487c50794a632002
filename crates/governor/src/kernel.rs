//! The interface between the governor and a kernel. All access to live processes goes through it.

use crate::seen::{BlockSeen, Headroom, LivePages, MachineSeen, ProcessId, Vitals};
use broadleaf_policy::Refusal;
use std::ops::Range;
use std::time::Duration;

/// The reason for which the kernel could not answer or act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KernelError {
    /// The process has ended.
    #[error("the process has ended")]
    Gone,
    /// The process is a kernel thread.
    #[error("it is a thread of the kernel, which has no memory of its own")]
    KernelThread,
    /// The kernel does not allow the call to this user.
    #[error("the kernel does not allow it to this user")]
    NotAllowed,
    /// Any other error, by its number.
    #[error("the kernel answered: {}", std::io::Error::from_raw_os_error(*.0))]
    Errno(i32),
}

/// A kernel and its processes. [`crate::Linux`] is the real implementation. Tests have an
/// implementation that fails in every way in which a real kernel fails.
pub trait Kernel {
    /// Returns the time since a fixed moment.
    fn now(&mut self) -> Duration;

    /// Returns the processor time that this process has used.
    fn own_cpu(&mut self) -> Duration;

    /// Returns the state of the machine.
    fn machine(&mut self) -> MachineSeen;

    /// Returns the process with this number, if the process exists.
    fn process(&mut self, pid: u32) -> Option<ProcessId>;

    /// Returns the facts about a process that cost next to nothing to read.
    ///
    /// # Errors
    /// Returns [`KernelError::Gone`] if the process has ended.
    fn vitals(&mut self, process: ProcessId) -> Result<Vitals, KernelError>;

    /// Returns the memory that the cgroup of a process may still use, if there is a limit.
    fn headroom(&mut self, process: ProcessId) -> Option<Headroom>;

    /// Returns the living processes that this process started.
    fn children(&mut self, process: ProcessId) -> Vec<ProcessId>;

    /// Reads the memory map of a process.
    ///
    /// # Errors
    /// Returns an error if the process has ended or its memory may not be read.
    fn pages(&mut self, process: ProcessId) -> Result<LivePages, KernelError>;

    /// Returns true if the next [`Kernel::pages`] reports a new measurement of the use of blocks.
    fn has_news_of_use(&mut self, _process: ProcessId) -> bool {
        false
    }

    /// Returns the bytes that a process holds. A page that several processes share counts in
    /// proportion. Returns `None` if the kernel does not report the number.
    fn held(&mut self, process: ProcessId) -> Option<u64>;

    /// Returns the ranges of blocks for which the program asked for superpages, if the kernel obeys
    /// such requests. Without ranges, all superpages count against budgets.
    fn asked(&mut self, _process: ProcessId) -> Vec<Range<u64>> {
        Vec::new()
    }

    /// Reads some blocks of a process: one entry for each block, in order, empty blocks included.
    ///
    /// # Errors
    /// Returns an error if the process has ended or its memory may not be read.
    fn blocks(
        &mut self,
        process: ProcessId,
        blocks: Range<u64>,
    ) -> Result<Vec<BlockSeen>, KernelError>;

    /// Returns the number of base pages of a block of anonymous memory that other processes map as
    /// well. The kernel's page of zeroes does not count: a superpage of it copies nothing.
    ///
    /// # Errors
    /// Returns an error if the process has ended, or its memory may not be read.
    fn shared(&mut self, process: ProcessId, block: u64) -> Result<u32, KernelError>;

    /// Returns the reason for which the kernel can never promote a block, by the flags of its
    /// mapping. Returns `None` if the flags allow a superpage or are unknown.
    fn ruled_out(&mut self, _process: ProcessId, _block: u64) -> Option<Refusal> {
        None
    }

    /// Promotes consecutive blocks.
    ///
    /// # Errors
    /// Returns the kernel's answer. Some of the blocks may be superpages nevertheless.
    fn collapse(&mut self, process: ProcessId, blocks: Range<u64>) -> Result<(), KernelError>;

    /// Splits a superpage into base pages and frees the pages that hold only zeroes. If the program
    /// has already broken the superpage, the block keeps all its pages except those that the
    /// program returned. In that case, too, the pages of zeroes are freed.
    ///
    /// # Errors
    /// Returns the kernel's answer.
    fn split(&mut self, process: ProcessId, block: u64) -> Result<(), KernelError>;
}
