//! The main thread's stack, which grows when it is touched.

use broadleaf_trace::{Event, Range};
use broadleaf_units::VirtAddr;

const PAGE: u64 = 4096;

/// The range of the stack, and the lowest address that it may grow to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stack {
    pub(super) low: u64,
    pub(super) top: u64,
    pub(super) floor: u64,
}

impl Stack {
    /// Returns true if a reference at this address makes the stack grow.
    pub(super) const fn grows_by(&self, address: u64) -> bool {
        address.wrapping_sub(self.floor) < self.low.wrapping_sub(self.floor)
    }

    /// Grows the stack down to this address.
    pub(super) const fn grow(&mut self, address: u64) {
        self.low = address & !(PAGE - 1);
    }

    /// Returns the trace event of the present range.
    pub(super) const fn event(&self) -> Event {
        Event::StackGrow(Range {
            start: VirtAddr(self.low),
            len: self.top - self.low,
        })
    }
}
