//! The tests of the crates `accel` and `model`: one binary, one module for each subject.

mod after;
mod common;
mod competitive;
mod derby;
mod differential;
mod ends;
mod expressions;
mod filtered;
mod forks;
mod interim;
mod kinds;
mod neighbours;
mod observers;
mod offline;
mod populate;
mod recency;
mod replacement;
mod romer;
mod stacks;
mod steps;
mod thresholds;
mod tlbmcpi;
mod units;
mod walk_entries;
mod wiring;
