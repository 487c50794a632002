//! The tests of the `cache` crate: one binary, one module for each subject.

mod closed_forms;
mod common;
mod differential;
mod specs;
mod streams;
