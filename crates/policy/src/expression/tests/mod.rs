//! Tests of expressions.

extern crate std;

mod decisions;
mod errors;
mod trees;
mod units;
