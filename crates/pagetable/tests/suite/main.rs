//! The tests of the `pagetable` crate: one binary, one module for each subject.

mod contract;
mod radix;
mod thesis;
