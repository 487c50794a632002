//! Frames that pages stand in, and who maps them.

/// What stands at a base page of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    /// Nothing.
    Absent,
    /// The kernel's page of zeroes.
    Zero,
    /// Something that was swapped out.
    Swapped,
    /// A frame, by number.
    Frame(u32),
}

#[derive(Clone, Copy, Debug, Default)]
struct Frame {
    /// How many processes map it.
    mapped: u32,
    /// Whether it was ever stored to. One that a promotion filled was not.
    stored: bool,
}

/// All frames that were ever given out.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    all: Vec<Frame>,
    free: Vec<u32>,
}

impl Frames {
    /// How many are in use.
    pub(crate) fn used(&self) -> u64 {
        (self.all.len() - self.free.len()) as u64
    }

    /// One more.
    pub(crate) fn take(&mut self, stored: bool) -> Page {
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
        Page::Frame(number)
    }

    /// How many processes map it, 0 where it is no frame.
    pub(crate) fn mappers(&self, page: Page) -> u64 {
        match page {
            Page::Frame(number) => self.all[number as usize].mapped.into(),
            Page::Absent | Page::Zero | Page::Swapped => 0,
        }
    }

    /// One process maps it no more.
    pub(crate) fn drop(&mut self, page: Page) {
        if let Page::Frame(number) = page {
            let frame = &mut self.all[number as usize];
            frame.mapped -= 1;
            if frame.mapped == 0 {
                self.free.push(number);
            }
        }
    }

    /// One process more maps it.
    pub(crate) fn share(&mut self, page: Page) {
        if let Page::Frame(number) = page {
            self.all[number as usize].mapped += 1;
        }
    }

    /// Whether several processes map it.
    pub(crate) fn is_shared(&self, page: Page) -> bool {
        matches!(page, Page::Frame(number) if self.all[number as usize].mapped > 1)
    }

    /// Whether it is a frame that nobody stored to.
    pub(crate) fn is_filled(&self, page: Page) -> bool {
        matches!(page, Page::Frame(number) if !self.all[number as usize].stored)
    }

    /// Somebody stores to it.
    pub(crate) fn store(&mut self, page: Page) {
        if let Page::Frame(number) = page {
            self.all[number as usize].stored = true;
        }
    }

    /// How many processes map each, for comparison.
    pub(crate) fn mapped(&self) -> Vec<u32> {
        self.all.iter().map(|frame| frame.mapped).collect()
    }
}
