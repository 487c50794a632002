//! `advise`: the parts of memory that are worth superpages.

use std::path::PathBuf;

use broadleaf_metrics::RangeAdvice;
use broadleaf_report::{
    NO_SITES, View, cbmm, flame_graph, folded, madvise, perf_script, range_table,
};
use broadleaf_study::advise::places::TracePlaces;
use broadleaf_study::advise::{
    AdviceRequest, RankBy, advise as advise_on, choosing_policy, mosalloc,
};
use broadleaf_study::output::json;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::arguments::{FILES, cache, event_costs, threads as thread_count};
use crate::columns::of_ranges;
use crate::errors::{exception, invalid};
use crate::machines::machines;
use crate::run::Run;
use crate::table::Table;
use crate::words::value_of;

const ORDERS: [(&str, RankBy); 2] = [("gain", RankBy::Gain), ("byte", RankBy::Byte)];

/// Advice on a trace, with the places of its mappings.
#[pyclass(name = "Advice", frozen, module = "broadleaf._broadleaf")]
pub(crate) struct TraceAdvice {
    advice: RangeAdvice,
    places: TracePlaces,
}

/// Finds the parts of memory that are worth superpages. `broadleaf.advise` documents the arguments.
#[pyfunction]
#[pyo3(signature = (
    trace, *, machine, policy, files, costs, by, threads, keep_going, max_accesses, use_cache,
    progress
))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn advise(
    py: Python<'_>,
    trace: PathBuf,
    machine: Bound<'_, PyAny>,
    policy: String,
    files: String,
    costs: Option<String>,
    by: String,
    threads: Option<usize>,
    keep_going: bool,
    max_accesses: Option<u64>,
    use_cache: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<TraceAdvice> {
    let run = Run::new(progress);
    let asked = machines(py, vec![machine], run.error())?;
    let machine = match &asked.machines[..] {
        [machine] => machine.clone(),
        _ => return Err(invalid(py, "advice is for one machine")),
    };
    let files = value_of(py, "files", &files, &FILES)?;
    let by = value_of(py, "by", &by, &ORDERS)?;
    let costs = event_costs(py, costs.as_deref())?;
    let threads = thread_count(py, threads)?;
    let cache = cache(py, use_cache && !asked.have_classes())?;
    let (advice, places) = run.work(py, |run| {
        advise_on(AdviceRequest {
            trace: &trace,
            policy: choosing_policy(&policy)?,
            machine,
            files,
            costs,
            by,
            threads,
            keep_going,
            max_accesses,
            cache: cache.as_ref(),
            maps: false,
            watch: run,
        })
    })?;
    Ok(TraceAdvice { advice, places })
}

#[pymethods]
impl TraceAdvice {
    /// The advice as JSON, schema `broadleaf.advice/1`.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        json(&self.advice).map_err(|failure| exception(py, &failure))
    }

    /// The best ranges as a table for people.
    fn text(&self, top: usize, width: Option<usize>) -> String {
        let view = View {
            width,
            ..View::default()
        };
        range_table(&self.advice, top, view)
    }

    /// The advice for another program: `madvise`, `cbmm`, `mosalloc`, `folded`, `flamegraph` or
    /// `perf`. With it come notes on advice that the format cannot express.
    fn format(&self, py: Python<'_>, name: &str, top: usize) -> PyResult<(String, Vec<String>)> {
        let needs_sites = matches!(name, "folded" | "flamegraph" | "perf");
        if needs_sites && !self.places.has_sites() {
            return Err(invalid(py, NO_SITES));
        }
        Ok(match name {
            "madvise" => (madvise(&self.advice, top), Vec::new()),
            "cbmm" => cbmm(&self.advice, top),
            "mosalloc" => mosalloc::layout(&self.advice, &self.places, top),
            "folded" => (folded(&self.advice), Vec::new()),
            "perf" => (perf_script(&self.advice), Vec::new()),
            "flamegraph" => {
                let picture = flame_graph(&self.advice);
                let picture = picture.map_err(|error| PyRuntimeError::new_err(error.to_string()));
                (picture?, Vec::new())
            }
            other => {
                let known = "madvise, cbmm, mosalloc, folded, flamegraph, perf";
                return Err(invalid(
                    py,
                    format!("no format is called {other:?}: write {known}"),
                ));
            }
        })
    }

    /// The ranges, the best first: one row each.
    fn table(&self) -> PyResult<Table> {
        let batch = of_ranges(&self.advice.ranges);
        batch
            .map(Table)
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }
}
