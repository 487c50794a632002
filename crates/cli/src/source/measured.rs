//! A reader that knows how far it has come and what it has read.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

/// What was read through a [`Measured`] so far. Clones see the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    bytes: u64,
    hasher: blake3::Hasher,
}

impl Meter {
    /// How many bytes were read.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).bytes
    }

    /// The hash of all bytes that were read, as results name it.
    pub(crate) fn hash(&self) -> String {
        let hash = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .hasher
            .finalize();
        format!("blake3:{}", hash.to_hex())
    }

    fn add(&self, bytes: &[u8]) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.bytes += bytes.len() as u64;
        state.hasher.update(bytes);
    }
}

/// A reader whose bytes are counted and hashed as they pass.
pub(crate) struct Measured<R> {
    inner: R,
    meter: Meter,
}

impl<R: Read> Measured<R> {
    pub(crate) const fn new(inner: R, meter: Meter) -> Self {
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
