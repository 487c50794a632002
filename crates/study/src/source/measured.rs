//! A reader that counts and hashes its bytes.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The counts of a [`MeasuredReader`] reader. Clones share the counts.
#[derive(Clone, Debug, Default)]
pub struct Meter(Arc<Mutex<MeterState>>);

#[derive(Debug, Default)]
struct MeterState {
    /// The bytes of this pass.
    bytes: u64,
    hasher: blake3::Hasher,
    /// The hash of the first pass, after its end.
    hash: Option<String>,
}

impl Meter {
    /// The number of bytes read in this pass.
    pub fn bytes(&self) -> u64 {
        self.state().bytes
    }

    /// The hash of the first pass's bytes, in the notation of results; `None` before
    /// [`Meter::end_pass`].
    pub fn hash(&self) -> Option<String> {
        self.state().hash.clone()
    }

    /// Ends a pass. Further passes begin at byte 0 and are not hashed.
    pub(crate) fn end_pass(&self) {
        let mut state = self.state();
        if state.hash.is_none() {
            state.hash = Some(format!("blake3:{}", state.hasher.finalize().to_hex()));
        }
    }

    /// Begins another pass. An unfinished pass does not count as the first.
    pub fn restart(&self) {
        let mut state = self.state();
        state.bytes = 0;
        if state.hash.is_none() {
            state.hasher.reset();
        }
    }

    fn add(&self, bytes: &[u8]) {
        let mut state = self.state();
        state.bytes += bytes.len() as u64;
        if state.hash.is_none() {
            state.hasher.update(bytes);
        }
    }

    fn state(&self) -> MutexGuard<'_, MeterState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reader that counts and hashes its bytes in a [`Meter`].
pub struct MeasuredReader<R> {
    inner: R,
    meter: Meter,
}

impl<R: Read> MeasuredReader<R> {
    /// Counts and hashes the bytes of `inner` in `meter`.
    pub const fn new(inner: R, meter: Meter) -> Self {
        Self { inner, meter }
    }
}

impl<R: Read> Read for MeasuredReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(into)?;
        self.meter.add(&into[..count]);
        Ok(count)
    }
}
