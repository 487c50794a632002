//! The tests of the `memory` crate: one binary, one module for each subject.

mod assigned;
mod assigned_slowly;
mod colours;
mod common;
mod corners;
mod files;
mod footprint;
mod frames;
mod frames_in_turn;
mod gathered;
mod kernel;
mod many_events;
mod mechanisms;
mod objects;
mod placing;
mod processes;
mod reclaim;
mod scattered;
mod shared_memory;
mod streams;
mod system;
mod verbs;
mod victims;
