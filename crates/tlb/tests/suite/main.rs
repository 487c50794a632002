//! The tests of the `tlb` crate: one binary, one module for each subject.

mod catalogues;
mod forms;
mod repeats;
mod stacks;
