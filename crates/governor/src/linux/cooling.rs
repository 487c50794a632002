//! Advice that marks memory of a process unused.

use super::{Linux, calls};
use crate::kernel::KernelError;
use crate::seen::{BLOCK_BYTES, ProcessId};
use std::ops::Range;
use std::os::fd::OwnedFd;

/// Marks memory of one process unused. Several threads may do so at once.
#[derive(Debug)]
pub(crate) struct ProcessCooler<'a>(&'a OwnedFd);

impl ProcessCooler<'_> {
    /// Marks the pages of blocks unused. Whole blocks are given, so no superpage is split.
    ///
    /// # Errors
    /// Returns the kernel's answer.
    pub(crate) fn cool(&self, blocks: Range<u64>) -> Result<(), KernelError> {
        let bytes = (blocks.end - blocks.start) * BLOCK_BYTES;
        calls::advise(self.0, blocks.start * BLOCK_BYTES, bytes, libc::MADV_COLD)
    }
}

impl Linux {
    /// Returns the means to mark memory of the process unused.
    ///
    /// # Errors
    /// Returns an error if the process has ended.
    pub(crate) fn cooler(&mut self, process: ProcessId) -> Result<ProcessCooler<'_>, KernelError> {
        self.handle(process).map(ProcessCooler)
    }

    /// Closes the descriptor of the process.
    pub(crate) fn let_go(&mut self, process: ProcessId) {
        self.handles.remove(&process);
    }
}
