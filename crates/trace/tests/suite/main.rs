//! The tests of the `trace` crate: one binary, one module for each subject.

mod blocks;
mod code;
mod common;
mod damage;
mod example;
mod fixture;
mod parts;
mod phrases;
mod round_trip;
mod sites;
mod some_chunks;
