//! Importers and exporters, held against their catalogue and against traces written by hand.

mod champsim;
mod common;
mod contract;
mod drmemtrace;
mod drmemtrace_files;
mod drmemtrace_long;
mod drmemtrace_physical;
mod drmemtrace_threads;
