//! Recorders: live programs become traces, or counts of the TLB misses that trap.

mod qemu;
pub mod scratch;
pub mod symbols;
pub mod system;
pub mod trap;
pub mod valgrind;
pub mod windows;
