//! The tests of the `oracle` crate: one binary, one module for each subject.

mod by_hand;
mod offline;
mod random;
mod scattered;
