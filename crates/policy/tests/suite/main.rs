//! The tests of the `policy` crate: one binary, one module for each subject.

mod catalogue;
mod common;
mod contract;
