//! The streams of executions of a chunk, in the trace format.

/// A buffer of bytes that grows at its end. The appending code makes room for many bytes at once
/// and keeps the end in a variable. Then each byte is a single store.
#[derive(Default)]
pub(super) struct Bytes {
    bytes: Vec<u8>,
    used: usize,
}

impl Bytes {
    /// Makes room for `bytes` bytes after `end`.
    #[inline]
    pub(super) fn make_room(&mut self, end: usize, bytes: usize) {
        if self.bytes.len() - end < bytes {
            self.grow(end, bytes);
        }
    }

    #[cold]
    fn grow(&mut self, end: usize, bytes: usize) {
        let room = (2 * self.bytes.len()).max(end + bytes).max(1 << 16);
        self.bytes.resize(room, 0);
    }

    /// Returns the position of the next byte.
    #[inline]
    pub(super) const fn end(&self) -> usize {
        self.used
    }

    /// Sets the end of the bytes.
    #[inline]
    pub(super) const fn set_end(&mut self, end: usize) {
        self.used = end;
    }

    /// Writes bytes at `end`, and moves `end` if `are` is true. The room must exist.
    #[inline]
    pub(super) fn put_if<const N: usize>(&mut self, end: &mut usize, are: bool, bytes: [u8; N]) {
        self.bytes[*end..*end + N].copy_from_slice(&bytes);
        *end += if are { N } else { 0 };
    }

    /// Appends a byte.
    pub(super) fn push(&mut self, byte: u8) {
        self.make_room(self.used, 1);
        self.bytes[self.used] = byte;
        self.used += 1;
    }

    /// Appends a number.
    pub(super) fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.push(value as u8);
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.used == 0
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.used]
    }
}

/// The six streams of executions of one chunk, in the order of the format.
#[derive(Default)]
pub(super) struct Streams {
    pub(super) heads: Bytes,
    pub(super) runs: Bytes,
    pub(super) patterns: Bytes,
    pub(super) masks: Bytes,
    pub(super) units: Bytes,
    pub(super) places: Bytes,
}

impl Streams {
    pub(super) fn sections(&self) -> [&[u8]; 6] {
        [
            self.heads.as_slice(),
            self.runs.as_slice(),
            self.patterns.as_slice(),
            self.masks.as_slice(),
            self.units.as_slice(),
            self.places.as_slice(),
        ]
    }

    pub(super) fn clear(&mut self) {
        for stream in [
            &mut self.heads,
            &mut self.runs,
            &mut self.patterns,
            &mut self.masks,
            &mut self.units,
            &mut self.places,
        ] {
            stream.set_end(0);
        }
    }
}
