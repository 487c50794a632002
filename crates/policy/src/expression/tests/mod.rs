//! Tests of expressions.

extern crate std;

mod decisions;
mod errors;
mod needs;
mod trees;
mod units;
