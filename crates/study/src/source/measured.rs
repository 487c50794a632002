//! A reader that knows how far it has come and what it has read.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What was read through a [`Measured`] so far. Clones see the same.
#[derive(Clone, Debug, Default)]
pub struct Meter(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// In this pass.
    bytes: u64,
    hasher: blake3::Hasher,
    /// The hash of the first pass, once it is over.
    hash: Option<String>,
}

impl Meter {
    /// How many bytes were read in this pass.
    pub fn bytes(&self) -> u64 {
        self.state().bytes
    }

    /// The hash of the first pass's bytes, as results name it; `None` before [`Meter::end_pass`].
    pub fn hash(&self) -> Option<String> {
        self.state().hash.clone()
    }

    /// Everything was read once. Another pass begins at byte 0 and is not hashed again.
    pub(crate) fn end_pass(&self) {
        let mut state = self.state();
        if state.hash.is_none() {
            state.hash = Some(format!("blake3:{}", state.hasher.finalize().to_hex()));
        }
    }

    /// The next bytes are the first again. A pass that did not come to its end does not count as the first.
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reader whose bytes are counted and hashed as they pass.
pub struct Measured<R> {
    inner: R,
    meter: Meter,
}

impl<R: Read> Measured<R> {
    /// Counts and hashes the bytes of `inner` in `meter`.
    pub const fn new(inner: R, meter: Meter) -> Self {
        Self { inner, meter }
    }
}

impl<R: Read> Read for Measured<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(into)?;
        self.meter.add(&into[..count]);
        Ok(count)
    }
}
