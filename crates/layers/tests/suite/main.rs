//! The tests of the `layers` crate: one binary, one module for each subject.

mod additions;
mod bans;
mod layers;
mod names;
mod recipes;
mod room;
