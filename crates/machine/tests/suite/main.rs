//! The tests of the `machine` crate: one binary, one module for each subject.

mod catalogue_chases;
mod chases;
mod invalidation;
mod machines;
mod native;
mod oracle;
mod replacement;
mod sources;
