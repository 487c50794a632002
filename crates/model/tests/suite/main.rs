//! The tests of the `model` crate: one binary, one module for each subject.

mod dynamorio_caches;
mod evictions;
