//! The Valgrind recorder: a tool of our own inside Valgrind's core, which needs neither privileges nor a patched Valgrind.
//!
//! The tool (`recorder/valgrind`, in C) runs inside the recorded process and writes what runs to shared memory ([`ring`]). Here, on another
//! core, it becomes the streams of a trace ([`tell`]) and is compressed. One thread reads each process.

mod cause;
mod control;
mod elf;
mod launch;
mod life;
mod order;
#[cfg(test)]
mod outlived;
mod pack;
mod paths;
mod places;
mod process;
mod program;
mod readers;
mod ring;
mod session;
mod sink;
mod stack;
mod streams;
mod tell;
#[cfg(test)]
mod tests;
mod totals;
mod wire;

pub use session::{Clock, Finished, Options, Progress, RecordError, record};
