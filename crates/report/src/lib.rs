//! Tables and pictures of result records, wherever the records came from.
//!
//! Everything here is a function of its arguments: the host says how wide the terminal is and whether it shows colours.
#![forbid(unsafe_code)]

mod columns;
mod csv;
mod nearest;
pub mod number;
mod parquet;

pub use columns::{Column, Values, columns};
pub use csv::write_csv;
pub use nearest::nearest;
pub use parquet::{WriteParquetError, write_parquet};
