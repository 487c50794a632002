//! The tests of the `machine` crate: one binary, one module for each subject.

mod chases;
mod designs;
mod invalidation;
mod machines;
mod oracle;
mod price;
mod replacement;
