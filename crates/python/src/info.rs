//! `info`: the contents of a trace.

use std::path::PathBuf;

use broadleaf_report::View;
use broadleaf_study::info::{InfoRequest, info as info_of};
use broadleaf_study::output::json;
use pyo3::prelude::*;

use crate::run::Run;

/// Describes a trace, as JSON (schema `broadleaf.info/1`) and as a table for people.
#[pyfunction]
#[pyo3(signature = (trace, *, keep_going, max_accesses, progress))]
pub(crate) fn info(
    py: Python<'_>,
    trace: PathBuf,
    keep_going: bool,
    max_accesses: Option<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, String)> {
    Run::new(progress).work(py, |run| {
        let info = info_of(&InfoRequest {
            trace: &trace,
            keep_going,
            max_accesses,
            watch: run,
        })?;
        Ok((json(&info.to_json())?, info.table(View::default())))
    })
}
