//! A thread's phrase reader, which passes from one part reader to the next.
//!
//! A phrase reader has about 2 MiB: the table of codes and the words of a chunk. A thread with
//! several open parts mostly reads a chunk to its end before it goes on with another part. A phrase
//! reader for each part would leave the processor's caches, and would need new, cleared memory.

use super::PhraseReader;
use std::cell::Cell;

thread_local! {
    static SPARE: Cell<Option<Box<PhraseReader>>> = const { Cell::new(None) };
}

/// Takes the thread's unused phrase reader, or makes a new one.
pub(crate) fn take() -> Box<PhraseReader> {
    SPARE
        .take()
        .unwrap_or_else(|| Box::new(PhraseReader::new()))
}

/// Returns a phrase reader to the thread.
pub(crate) fn put(reader: Box<PhraseReader>) {
    SPARE.set(Some(reader));
}
