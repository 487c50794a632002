//! `reduce` and `join_parts`: reduced forms of traces, and parts of them.

use std::path::PathBuf;

use broadleaf_study::reduce::{
    PartNumber, ReduceRequest, join, path_beside, reduce as reduce_trace,
};
use pyo3::prelude::*;

use crate::arguments::threads as threads_of;
use crate::errors::invalid;
use crate::run::Run;

/// Writes the reduced form of a trace, or a part of it. Returns the path of the file.
#[pyfunction]
#[pyo3(signature = (
    trace, *, part, machines, output, force, threads, max_accesses, progress
))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn reduce(
    py: Python<'_>,
    trace: PathBuf,
    part: Option<(u32, u32)>,
    machines: Vec<PathBuf>,
    output: Option<PathBuf>,
    force: bool,
    threads: Option<usize>,
    max_accesses: Option<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<PathBuf> {
    let threads = threads_of(py, threads)?;
    let part = part.map(|(number, of)| {
        let no_part = || {
            invalid(
                py,
                format!("part=({number}, {of}): parts of {of} are numbered from 1 to {of}"),
            )
        };
        PartNumber::new(number, of).ok_or_else(no_part)
    });
    let part = part.transpose()?;
    if part.is_some() && output.is_none() {
        return Err(invalid(py, "a part needs an output: the file of the part"));
    }
    let machines = machines.into_iter().map(|machine| {
        let text = machine.into_os_string().into_string();
        text.map_err(|name| invalid(py, format!("machines: {name:?} is no UTF-8")))
    });
    let machines = machines.collect::<PyResult<Vec<String>>>()?;
    Run::new(progress).work(py, |run| {
        reduce_trace(&ReduceRequest {
            trace: &trace,
            output: output.as_deref(),
            force,
            part,
            machines: &machines,
            threads,
            max_accesses,
            watch: run,
        })
    })?;
    Ok(output.unwrap_or_else(|| path_beside(&trace)))
}

/// Joins the parts of a reduced form. Returns the path of the file.
#[pyfunction]
#[pyo3(signature = (parts, output, *, force, progress))]
pub(crate) fn join_parts(
    py: Python<'_>,
    parts: Vec<PathBuf>,
    output: PathBuf,
    force: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<PathBuf> {
    Run::new(progress).work(py, |run| join(&parts, Some(&output), force, run))?;
    Ok(output)
}
