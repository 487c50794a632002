//! The tests of the `machine` crate: one binary, one module for each subject.

mod caches;
mod chases;
mod designs;
mod figures;
mod guests;
mod invalidation;
mod machines;
mod native;
mod oracle;
mod organisations;
mod price;
mod replacement;
mod rule_chases;
mod sources;
