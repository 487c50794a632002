//! The number of accesses and of populated pages that a recording may hold for its size, so that a
//! few bytes cannot keep a command busy for days.

use broadleaf_trace::Totals;

use super::{Origin, ReadError};

/// Accesses that are read of any recording, however small: some seconds of work for one policy.
const FREE: u64 = 1 << 30;
/// Accesses that are read for each byte. Recordings of gzip, gcc, sqlite and gups have 1 to 400 for
/// each byte; a loop that touches nothing new has more.
const PER_BYTE: u64 = 1 << 16;
/// The accesses that a populated page counts as. A page that is populated anew took 44 ns under
/// `4k`, an access 3 ns. A loop that maps, reads and unmaps 1 MiB takes 0.08 bytes for 256 pages: a
/// million rounds are within the limit.
const PER_PAGE: u64 = 16;

/// A limit on the number of accesses to read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccessBound {
    /// The limit that the user gave.
    most: Option<u64>,
    /// The accesses of all parts that were handed out, by the parts' own counts.
    handed_out: u64,
}

impl AccessBound {
    pub(crate) const fn new(most: Option<u64>) -> Self {
        Self {
            most,
            handed_out: 0,
        }
    }

    /// Refuses a recording of `read` bytes if its `work`, claimed or decoded so far, exceeds the
    /// limit.
    pub(crate) fn check(&self, origin: &Origin, read: u64, work: u64) -> Result<(), ReadError> {
        let (bytes, most) = self.allowed(origin, read);
        if work <= most {
            return Ok(());
        }
        Err(ReadError::TooLong {
            name: origin.name().to_owned(),
            accesses: work,
            bytes,
            most,
            given: self.most.is_some(),
        })
    }

    /// Refuses a recording of `read` bytes if the events of its first `understood` bytes populate
    /// more `pages` than the limit.
    pub(crate) fn check_populated(
        &self,
        origin: &Origin,
        read: u64,
        understood: u64,
        pages: u64,
    ) -> Result<(), ReadError> {
        let (bytes, most) = self.allowed(origin, read);
        let accesses = pages.saturating_mul(PER_PAGE);
        if accesses <= most {
            return Ok(());
        }
        Err(ReadError::TooPopulated {
            name: origin.name().to_owned(),
            pages,
            understood,
            bytes,
            most: most / PER_PAGE,
            accesses,
        })
    }

    /// The size of a recording, of which `read` bytes were read, and the limit on its accesses.
    fn allowed(&self, origin: &Origin, read: u64) -> (u64, u64) {
        let bytes = origin.size().unwrap_or(read);
        let by_size = || FREE.saturating_add(bytes.saturating_mul(PER_BYTE));
        (bytes, self.most.unwrap_or_else(by_size))
    }

    /// Adds the totals of a part that is handed out, and checks the sum.
    pub(crate) fn hand_out(
        &mut self,
        origin: &Origin,
        read: u64,
        totals: &Totals,
    ) -> Result<(), ReadError> {
        self.handed_out = self.handed_out.saturating_add(work(totals));
        self.check(origin, read, self.handed_out)
    }
}

/// The work of reading a trace: its accesses, or executions of blocks, which may have none.
pub(crate) const fn work(totals: &Totals) -> u64 {
    let accesses = totals.accesses();
    if accesses > totals.executions {
        accesses
    } else {
        totals.executions
    }
}
