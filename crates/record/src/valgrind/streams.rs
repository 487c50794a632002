//! The streams of executions of a chunk, as the format has them.

/// Bytes that are appended to. Room is made for many at once, and the end is kept by whoever appends, so that appending one byte is no more
/// than storing it.
#[derive(Default)]
pub(super) struct Bytes {
    bytes: Vec<u8>,
    used: usize,
}

impl Bytes {
    /// Makes room for so many bytes behind this end.
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

    /// Where the next byte goes.
    #[inline]
    pub(super) const fn end(&self) -> usize {
        self.used
    }

    /// The bytes end here now.
    #[inline]
    pub(super) const fn set_end(&mut self, end: usize) {
        self.used = end;
    }

    /// Puts bytes that there is room for at this end, and moves it if they `are` there.
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
