//! The tests of this crate, in one binary.

mod catalogue;
mod common;
mod stored;
