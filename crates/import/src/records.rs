//! Records of one size, with their numbers and places.

use std::io::{self, Read};

use crate::error::{ImportError, Spot};
use crate::source::Opened;

/// Bytes that are asked for at once.
const BUFFER: usize = 64 << 10;

/// Reads records of `SIZE` bytes.
pub(crate) struct Records<const SIZE: usize> {
    from: Opened,
    buffer: Vec<u8>,
    next: usize,
    filled: usize,
    /// Records that were handed out.
    count: u64,
}

impl<const SIZE: usize> Records<SIZE> {
    pub(crate) fn new(from: Opened) -> Self {
        Self {
            from,
            buffer: vec![0; BUFFER / SIZE * SIZE],
            next: 0,
            filled: 0,
            count: 0,
        }
    }

    /// The input's name.
    pub(crate) fn name(&self) -> &str {
        &self.from.name
    }

    /// The number of records that were handed out.
    pub(crate) const fn count(&self) -> u64 {
        self.count
    }

    /// The next record; `None` at the end.
    ///
    /// # Errors
    /// The input ends inside a record, is damaged, or cannot be read.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<&[u8; SIZE]>, ImportError> {
        if self.filled - self.next < SIZE && !self.refill()? {
            return Ok(None);
        }
        let record = self.buffer[self.next..self.filled].first_chunk();
        self.next += SIZE;
        self.count += 1;
        Ok(record)
    }

    /// The records that come next and are in memory already.
    pub(crate) fn buffered(&self) -> &[[u8; SIZE]] {
        self.buffer[self.next..self.filled].as_chunks().0
    }

    /// The records that come next, at least one; none at the end.
    ///
    /// # Errors
    /// As [`Records::next`].
    pub(crate) fn ready(&mut self) -> Result<&[[u8; SIZE]], ImportError> {
        if self.filled - self.next < SIZE {
            self.refill()?;
        }
        Ok(self.buffered())
    }

    /// Passes some of the [buffered](Records::buffered) records.
    pub(crate) fn pass(&mut self, records: usize) {
        let records = records.min((self.filled - self.next) / SIZE);
        self.next += records * SIZE;
        self.count += records as u64;
    }

    /// Takes back the record that was handed out last, so that it comes next.
    pub(crate) fn unread(&mut self) {
        self.next -= SIZE;
        self.count -= 1;
    }

    /// Reads until there is a whole record. `false` at the end of the input.
    #[cold]
    fn refill(&mut self) -> Result<bool, ImportError> {
        self.buffer.copy_within(self.next..self.filled, 0);
        self.filled -= self.next;
        self.next = 0;
        while self.filled < SIZE {
            match self.from.bytes.read(&mut self.buffer[self.filled..]) {
                Ok(0) if self.filled == 0 => return Ok(false),
                Ok(0) => {
                    let reason = format!(
                        "the input ends after {} of its {SIZE} bytes: it was cut short, or is \
                         in another format",
                        self.filled
                    );
                    return Err(self.bad_next(reason));
                }
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.raw_os_error().is_some() => {
                    return Err(ImportError::io(&self.from.name, error));
                }
                Err(error) => {
                    let reason = format!(
                        "the compressed data after this record is damaged or cut short ({error}): \
                         copy or record the file again"
                    );
                    return Err(self.bad_next(reason));
                }
            }
        }
        Ok(true)
    }

    /// The refusal of the record that was handed out last.
    pub(crate) fn bad(&self, reason: impl Into<String>) -> ImportError {
        self.bad_at(self.count, reason.into())
    }

    fn bad_next(&self, reason: String) -> ImportError {
        self.bad_at(self.count + 1, reason)
    }

    fn bad_at(&self, number: u64, reason: String) -> ImportError {
        ImportError::record(&self.from.name, self.spot_of(number), reason)
    }

    /// The place of the record that was handed out last.
    pub(crate) fn spot(&self) -> Spot {
        self.spot_of(self.count)
    }

    fn spot_of(&self, number: u64) -> Spot {
        Spot {
            noun: "record",
            number,
            offset: number.saturating_sub(1) * SIZE as u64,
            decompressed: self.from.decompressed,
        }
    }
}
