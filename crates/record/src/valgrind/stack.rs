//! The main thread's stack, which grows by being touched.

use broadleaf_trace::{Event, Range};
use broadleaf_units::VirtAddr;

const PAGE: u64 = 4096;

/// Where it is, and how low it may grow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stack {
    pub(super) low: u64,
    pub(super) top: u64,
    pub(super) floor: u64,
}

impl Stack {
    /// Whether a reference there makes it grow.
    pub(super) const fn grows_by(&self, address: u64) -> bool {
        address.wrapping_sub(self.floor) < self.low.wrapping_sub(self.floor)
    }

    /// It reaches down to this address from here on.
    pub(super) const fn grow(&mut self, address: u64) {
        self.low = address & !(PAGE - 1);
    }

    /// What a trace says of it once it has grown.
    pub(super) const fn event(&self) -> Event {
        Event::StackGrow(Range {
            start: VirtAddr(self.low),
            len: self.top - self.low,
        })
    }
}
