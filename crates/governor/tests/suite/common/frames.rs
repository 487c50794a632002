//! The frames of the fake kernel, and their map counts.

/// The contents of a base page of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FakePage {
    /// No page.
    Absent,
    /// The kernel's page of zeroes.
    Zero,
    /// A page in swap.
    Swapped,
    /// A frame, by number.
    Frame(u32),
}

#[derive(Clone, Copy, Debug, Default)]
struct Frame {
    /// The number of processes that map the frame.
    mapped: u32,
    /// True if a program ever stored to the frame. Promotions fill frames without a store.
    stored: bool,
}

/// All frames that were ever allocated.
#[derive(Debug, Default)]
pub(crate) struct FakeFrames {
    all: Vec<Frame>,
    free: Vec<u32>,
}

impl FakeFrames {
    /// Returns the number of frames in use.
    pub(crate) fn used(&self) -> u64 {
        (self.all.len() - self.free.len()) as u64
    }

    /// Allocates a frame.
    pub(crate) fn take(&mut self, stored: bool) -> FakePage {
        let frame = Frame { mapped: 1, stored };
        let number = match self.free.pop() {
            Some(number) => {
                self.all[number as usize] = frame;
                number
            }
            None => {
                self.all.push(frame);
                (self.all.len() - 1) as u32
            }
        };
        FakePage::Frame(number)
    }

    /// Returns the number of processes that map a page's frame. The number is 0 without a frame.
    pub(crate) fn mappers(&self, page: FakePage) -> u64 {
        match page {
            FakePage::Frame(number) => self.all[number as usize].mapped.into(),
            FakePage::Absent | FakePage::Zero | FakePage::Swapped => 0,
        }
    }

    /// Removes one mapping of a page's frame.
    pub(crate) fn drop(&mut self, page: FakePage) {
        if let FakePage::Frame(number) = page {
            let frame = &mut self.all[number as usize];
            frame.mapped -= 1;
            if frame.mapped == 0 {
                self.free.push(number);
            }
        }
    }

    /// Adds one mapping of a page's frame.
    pub(crate) fn share(&mut self, page: FakePage) {
        if let FakePage::Frame(number) = page {
            self.all[number as usize].mapped += 1;
        }
    }

    /// Returns true if several processes map the frame.
    pub(crate) fn is_shared(&self, page: FakePage) -> bool {
        matches!(page, FakePage::Frame(number) if self.all[number as usize].mapped > 1)
    }

    /// Returns true for a frame that no program stored to.
    pub(crate) fn is_filled(&self, page: FakePage) -> bool {
        matches!(page, FakePage::Frame(number) if !self.all[number as usize].stored)
    }

    /// Stores to a page.
    pub(crate) fn store(&mut self, page: FakePage) {
        if let FakePage::Frame(number) = page {
            self.all[number as usize].stored = true;
        }
    }

    /// Returns the map counts of all frames.
    pub(crate) fn mapped(&self) -> Vec<u32> {
        self.all.iter().map(|frame| frame.mapped).collect()
    }
}
