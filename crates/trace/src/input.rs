//! A read-ahead buffer: bytes stay in the buffer until the reader has understood them.

use std::io::{self, Read};

/// The minimum number of bytes that one read asks for.
const STEP: usize = 1 << 18;

/// A reader with a buffer of bytes that were read and not consumed yet.
#[derive(Debug)]
pub(crate) struct Input<R> {
    from: R,
    bytes: Vec<u8>,
    /// The first unconsumed byte of `bytes`.
    start: usize,
    /// The file offset of that byte.
    offset: u64,
    ended: bool,
}

impl<R: Read> Input<R> {
    /// Reads the rest of a file whose first `offset` bytes were read elsewhere.
    pub(crate) const fn new(from: R, offset: u64) -> Self {
        Self {
            from,
            bytes: Vec::new(),
            start: 0,
            offset,
            ended: false,
        }
    }

    /// The file offset of the first byte of [`Input::ahead`].
    pub(crate) const fn offset(&self) -> u64 {
        self.offset
    }

    /// The bytes that were read ahead.
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

    /// Reads until `count` bytes are ahead or the file ends. Returns true if `count` bytes are
    /// ahead.
    pub(crate) fn fill(&mut self, count: usize) -> io::Result<bool> {
        while self.ahead().len() < count && !self.ended {
            self.bytes.drain(..self.start);
            self.start = 0;
            // Each read at most doubles the buffer, so a made-up length cannot ask for much memory.
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
