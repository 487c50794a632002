//! What a thread reads chunks of phrases with, which goes from one reader of parts to the next.
//!
//! It is some two MiB: what stands behind codes, and the words of a chunk. Whoever has many parts at hand reads a chunk of each, mostly to its end, before it goes on
//! with another: were each part's reader to have its own, all of that would have to be fetched anew into the processor's caches, and new memory cleared for it.

use super::PhraseReader;
use std::cell::Cell;

thread_local! {
    static SPARE: Cell<Option<Box<PhraseReader>>> = const { Cell::new(None) };
}

/// The one that this thread does not use, or a new one.
pub(crate) fn take() -> Box<PhraseReader> {
    SPARE
        .take()
        .unwrap_or_else(|| Box::new(PhraseReader::new()))
}

/// This thread uses it no longer.
pub(crate) fn put(reader: Box<PhraseReader>) {
    SPARE.set(Some(reader));
}
