//! The Valgrind recorder. Its tool runs inside Valgrind's core and needs neither privileges nor a
//! patched Valgrind.
//!
//! The tool (`recorder/valgrind`, in C) runs inside the recorded process and writes executions to
//! shared memory ([`ring`]). On another core, the recorder turns them into the streams of a trace
//! ([`encode`]) and compresses them. One thread reads each process.

mod cause;
mod control;
mod elf;
mod encode;
mod errors;
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
mod sites;
mod stack;
mod streams;
#[cfg(test)]
mod tests;
mod totals;
mod wire;

pub(crate) use cause::has_sanitizer;
pub use errors::RecordError;
pub(crate) use program::{executable, find as find_program, interpreter_line};
pub use session::{
    Clock, Engine, Finished, MISSING_CHILDREN, Options, RecordProgress, UNRECORDED_CHILDREN, record,
};
