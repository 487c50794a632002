//! Arguments that several functions have.

use std::num::NonZero;
use std::path::PathBuf;

use broadleaf_model::Files;
use broadleaf_study::cache::{TraceCache, size_limit};
use broadleaf_study::costs::costs;
use broadleaf_study::memory::{MemoryRequest, allocator, part, rate, swap};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{exception, invalid};
use crate::words::value_of;

/// The places of file pages before their first use.
pub(crate) const FILES: [(&str, Files); 2] = [("disk", Files::OnDisk), ("memory", Files::InMemory)];

/// Reads a number of threads; `None` is as many as the process may use.
pub(crate) fn threads(py: Python<'_>, given: Option<usize>) -> PyResult<Option<NonZero<usize>>> {
    let none = || invalid(py, "threads=0: a replay takes at least one thread");
    given
        .map(|count| NonZero::new(count).ok_or_else(none))
        .transpose()
}

/// The cache of reduced traces and results, if `used`.
pub(crate) fn cache(py: Python<'_>, used: bool) -> PyResult<Option<TraceCache>> {
    if !used {
        return Ok(None);
    }
    let limit = size_limit(None).map_err(|failure| exception(py, &failure))?;
    Ok(TraceCache::of_user(limit))
}

/// Reads event costs: `disk=30000,fault=900`.
pub(crate) fn event_costs(
    py: Python<'_>,
    given: Option<&str>,
) -> PyResult<Option<broadleaf_model::Costs>> {
    given
        .map(|text| costs(text).map_err(|error| invalid(py, error)))
        .transpose()
}

/// Reads the request for memory: the fields of `broadleaf.Memory` that are set, as texts, paths and
/// numbers.
pub(crate) fn memory(py: Python<'_>, given: &Bound<'_, PyDict>) -> PyResult<MemoryRequest> {
    let mut request = MemoryRequest::unlimited();
    request.memory = None;
    for (key, value) in given {
        let key: String = key.extract()?;
        let text = || value.extract::<String>();
        let refuse = |error: String| invalid(py, format!("memory: {key}: {error}"));
        match &*key {
            "size" => request.memory = Some(text()?.parse().map_err(refuse)?),
            "after" => request.after = value.extract::<Vec<PathBuf>>()?,
            "occupied" => request.occupied = part(&text()?).map_err(refuse)?,
            "fragmentation" => request.fragmentation = Some(part(&text()?).map_err(refuse)?),
            "pagetypeinfo" => request.pagetypeinfo = Some(value.extract()?),
            "buddyinfo" => request.buddyinfo = Some(value.extract()?),
            "movable" => request.movable = part(&text()?).map_err(refuse)?,
            "seed" => request.seed = value.extract()?,
            "swap" => request.swap = Some(swap(&text()?).map_err(refuse)?),
            "code" => request.code = value.extract()?,
            "files" => request.files = value_of(py, "files", &text()?, &FILES)?,
            "allocator" => request.allocator = allocator(&text()?).map_err(refuse)?,
            "pools" => request.pools = Some(part(&text()?).map_err(refuse)?),
            "rate" => request.rate = rate(&text()?).map_err(refuse)?,
            "costs" => request.costs = event_costs(py, Some(&text()?))?,
            other => return Err(invalid(py, format!("memory has no key {other:?}"))),
        }
    }
    request.sized().map_err(|failure| exception(py, &failure))
}
