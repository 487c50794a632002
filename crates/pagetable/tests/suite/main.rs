//! The tests of the `pagetable` crate: one binary, one module for each subject.

mod contract;
mod edits;
mod radix;
mod synonyms;
mod thesis;
mod walk_caches;
