//! Recorders and importers of foreign traces.

pub mod import;
pub mod scratch;
pub mod valgrind;
