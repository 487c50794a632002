//! The tests of the `governor` crate: one binary, one module for each subject.

mod always;
mod apart;
mod backing_off;
mod budget;
mod common;
mod hysteresis;
mod journal;
mod lives;
mod procfs;
mod promotion;
mod quiet;
mod replay;
mod restarts;
mod stalls;
mod use_of_blocks;
