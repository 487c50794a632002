//! The tests of the `translation` crate: one binary, one module for each subject.

mod charges;
mod chases;
mod invalidation;
mod machines;
mod oracle;
mod recency;
mod stacks;
