//! Importers: traces that other tools wrote, turned into visits as a stream.
//!
//! An importer reads from anything that implements [`std::io::Read`] and never holds more than a buffer of it, so that a
//! trace may come from a pipe and be larger than memory.

mod fold;
pub mod lackey;

pub use fold::{Access, Fold};
