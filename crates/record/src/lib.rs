//! Recorders: live programs become traces.

pub mod scratch;
pub mod valgrind;
