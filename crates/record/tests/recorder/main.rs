//! The recorder's tests, on programs that the tests compile and on programs that every machine has.

mod causes;
mod code;
mod counts;
mod forks;
mod grains;
mod kernel;
mod placement;
mod processes;
mod qemu;
mod signals;
mod support;
mod systems;
mod traps;
mod windows;
