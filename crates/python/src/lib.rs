//! The extension module `broadleaf._broadleaf`: the functions of `study`, for the Python package
//! `broadleaf` in `python/`.
//!
//! Long work releases the interpreter lock. Signals and progress are looked at a few times a
//! second. Failures become exceptions with the same message.

mod advise;
mod arguments;
mod catalogue;
mod columns;
mod compare;
mod errors;
mod events;
mod info;
mod logging;
mod machines;
mod needs;
mod parts;
mod policy;
mod read;
mod record;
mod reduce;
mod run;
mod sweep;
mod table;
mod validate;
mod view;
mod words;
mod write;

use pyo3::prelude::*;

/// The Rust part of the package `broadleaf`.
#[pymodule]
#[pyo3(name = "_broadleaf")]
mod extension {
    #[pymodule_export]
    use super::advise::{TraceAdvice, advise};
    #[pymodule_export]
    use super::catalogue::{build, metrics, names};
    #[pymodule_export]
    use super::compare::{Comparison, compare};
    #[pymodule_export]
    use super::info::info;
    #[pymodule_export]
    use super::logging::listen;
    #[pymodule_export]
    use super::read::{Trace, TraceStream, open_trace};
    #[pymodule_export]
    use super::record::record;
    #[pymodule_export]
    use super::reduce::{join_parts, reduce};
    #[pymodule_export]
    use super::sweep::{add_sweep_result, plan_sweep, results_view, run_sweep_task, sweep_local};
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::validate::validate;
    #[pymodule_export]
    use super::view::PolicyView;
    #[pymodule_export]
    use super::write::write_trace;
}
