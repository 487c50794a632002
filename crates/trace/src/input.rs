//! Bytes that are read ahead until they have been understood.

use std::io::{self, Read};

/// How many bytes are asked for at a time, at least.
const STEP: usize = 1 << 18;

/// A reader with what was read and not consumed yet.
#[derive(Debug)]
pub(crate) struct Input<R> {
    from: R,
    bytes: Vec<u8>,
    /// Where in `bytes` begins what was not consumed.
    start: usize,
    /// Which byte of the file that is.
    offset: u64,
    ended: bool,
}

impl<R: Read> Input<R> {
    /// The rest of a file of which `offset` bytes were read.
    pub(crate) const fn new(from: R, offset: u64) -> Self {
        Self {
            from,
            bytes: Vec::new(),
            start: 0,
            offset,
            ended: false,
        }
    }

    /// Which byte of the file stands first.
    pub(crate) const fn offset(&self) -> u64 {
        self.offset
    }

    /// What was read ahead.
    pub(crate) fn ahead(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    pub(crate) fn consume(&mut self, count: usize) {
        self.start += count;
        self.offset += count as u64;
    }

    pub(crate) fn get_mut(&mut self) -> &mut R {
        &mut self.from
    }

    /// Reads on until `count` bytes are ahead, or the file ends. Answers whether so many are.
    pub(crate) fn fill(&mut self, count: usize) -> io::Result<bool> {
        while self.ahead().len() < count && !self.ended {
            self.bytes.drain(..self.start);
            self.start = 0;
            // No more than doubles what is there: a length that was made up asks for no memory.
            let held = self.bytes.len();
            let want = (count - held).min(held.max(STEP));
            let got = (&mut self.from)
                .take(want as u64)
                .read_to_end(&mut self.bytes)?;
            self.ended = got < want;
        }
        Ok(self.ahead().len() >= count)
    }
}
