//! `reduce` and `join_parts`: reduced forms of traces, and parts of them.

use std::path::{Path, PathBuf};

use broadleaf_study::reduce::{
    PartNumber, ReduceRequest, join, path_beside, reduce as reduce_trace,
};
use pyo3::prelude::*;

use crate::arguments::threads as threads_of;
use crate::errors::invalid;
use crate::run::Run;

/// Refuses an output that is no file.
fn refuse_no_file(py: Python<'_>, output: &Path) -> PyResult<()> {
    match output.as_os_str().as_encoded_bytes() {
        b"" | b"-" => Err(invalid(py, format!("output={output:?}: give a file"))),
        _ => Ok(()),
    }
}

/// Writes the reduced form of a trace, or a part of it. Returns the path of the file.
#[pyfunction]
#[pyo3(signature = (
    trace, *, part, machines, output, force, threads, max_accesses, progress
))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn reduce(
    py: Python<'_>,
    trace: PathBuf,
    part: Option<(i64, i64)>,
    machines: Vec<PathBuf>,
    output: Option<PathBuf>,
    force: bool,
    threads: Option<usize>,
    max_accesses: Option<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<PathBuf> {
    let threads = threads_of(py, threads)?;
    if machines.is_empty() {
        let message = "no machine is given: name one, such as \"skylake\"";
        return Err(invalid(py, message));
    }
    if let Some(output) = &output {
        refuse_no_file(py, output)?;
    }
    let part = part.map(|(number, of)| {
        let known = u32::try_from(number).ok().zip(u32::try_from(of).ok());
        let known = known.and_then(|(number, of)| PartNumber::new(number, of));
        known.ok_or_else(|| {
            let message = "a number from 1 to the number of parts, and that number";
            invalid(py, format!("part=({number}, {of}): give {message}"))
        })
    });
    let part = part.transpose()?;
    if part.is_some() && output.is_none() {
        return Err(invalid(py, "a part needs an output: the file of the part"));
    }
    let machines = machines.into_iter().map(|machine| {
        let text = machine.into_os_string().into_string();
        text.map_err(|name| {
            let message = format!("machines: {name:?} is no UTF-8: give the file another name");
            invalid(py, message)
        })
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
    refuse_no_file(py, &output)?;
    Run::new(progress).work(py, |run| join(&parts, Some(&output), force, run))?;
    Ok(output)
}
