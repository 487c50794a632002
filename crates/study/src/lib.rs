//! Studies: from a trace and a request to results.
//!
//! [`compare()`] replays a trace under policies, on machines and in memories. [`advise()`]
//! finds the parts of memory that are worth superpages. [`papers`] repeats the experiments of
//! papers. [`mod@mix`] runs several traces at a time. [`mod@info`] describes a trace,
//! [`mod@recode`] and [`mod@reduce`] write copies of it, and [`journal`] replays what a governor
//! saw. [`trapping`] counts TLB misses by traps. [`foreign`] imports and exports traces.
//! [`probing`] measures the TLBs of this machine, and [`predicting`] predicts run times.
//! [`mod@sweep`] runs experiment files. [`catalogues`] explains every name. A study opens files and
//! reads the state of this machine. It knows no terminal: [`watch::Watch`] receives the progress,
//! and the `log` crate receives notes.
#![forbid(unsafe_code)]
#![deny(clippy::missing_errors_doc)]

pub mod advise;
pub mod answer;
pub mod cache;
pub mod catalogues;
pub mod compare;
pub mod costs;
pub mod demo;
pub mod engine_options;
pub mod explained;
pub mod failure;
pub mod foreign;
pub mod foreseeing;
pub mod in_file;
pub mod info;
pub mod journal;
pub mod library;
mod listening;
pub mod machines;
pub mod map;
pub mod measured_ends;
pub mod memory;
pub mod mix;
pub mod names;
pub mod native;
pub mod output;
pub mod page;
pub mod papers;
pub mod perf_counters;
pub mod policies_file;
pub mod predicting;
pub mod probing;
pub mod provenance;
pub mod recode;
pub mod recording;
pub mod reduce;
mod room;
mod run_time;
pub mod shortage;
pub mod source;
pub mod sweep;
#[cfg(test)]
mod testing;
pub mod trapping;
pub mod unfinished;
pub mod watch;
pub mod windows;
