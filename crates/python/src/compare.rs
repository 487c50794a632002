//! `compare`: a trace under policies, on machines and in memories.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use broadleaf_policy::Refusal;
use broadleaf_report::{
    Glyphs, View as TextView, comparison_table, curves, curves_svg, matrix_svg,
};
use broadleaf_study::compare::{
    ComparisonAnswer, PolicyChoice, Request, chosen_policies, compare as compare_trace,
    reference_policies, usual_policies,
};
use broadleaf_study::output::json;
use broadleaf_study::page::page;
use broadleaf_study::shortage::refuse_lacking;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::{cache, memory as memory_request, threads as thread_count};
use crate::columns::{of_comparison, of_curves};
use crate::errors::{exception, invalid};
use crate::machines::machines as machines_of;
use crate::policy::choices;
use crate::run::Run;
use crate::table::Table;

/// The shares of a window that may warm TLBs up.
const WARM_UP_SHARES: RangeInclusive<f64> = 0.0..=0.99;

/// The results of a comparison.
#[pyclass(frozen, module = "broadleaf._broadleaf")]
pub(crate) struct Comparison(ComparisonAnswer);

/// Replays a trace. `broadleaf.compare` documents the arguments.
#[pyfunction]
#[pyo3(signature = (
    trace, policies, machines, *, memory: "dict[str, object]", curves, restarts, warm_up, threads, keep_going,
    max_accesses, use_cache, progress
))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn compare(
    py: Python<'_>,
    trace: PathBuf,
    policies: Vec<Bound<'_, PyAny>>,
    machines: Vec<Bound<'_, PyAny>>,
    memory: &Bound<'_, PyDict>,
    curves: bool,
    restarts: bool,
    warm_up: f64,
    threads: Option<usize>,
    keep_going: bool,
    max_accesses: Option<u64>,
    use_cache: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Comparison> {
    let run = Run::new(progress);
    let asked = machines_of(py, machines, run.error())?;
    let machines = asked.machines.clone();
    if machines.is_empty() {
        return Err(invalid(
            py,
            "no machine is given: name one, such as \"skylake\"",
        ));
    }
    let mut choices = choices(py, policies, run.error())?;
    let are_given = !choices.is_empty();
    if !are_given {
        choices.extend(
            usual_policies(&machines)
                .into_iter()
                .map(PolicyChoice::Named),
        );
    }
    if !WARM_UP_SHARES.contains(&warm_up) {
        let message = format!("warm_up is {warm_up}, and a share of a window is from 0 to 0.99");
        return Err(invalid(py, message));
    }
    let memory = memory_request(py, memory)?;
    let threads = thread_count(py, threads)?;
    let cache = cache(py, use_cache && !asked.have_classes())?;
    let answer = run.work(py, |run| {
        let policies = chosen_policies(&choices)?;
        if are_given {
            refuse_lacking(&policies.policies, &machines)?;
        }
        let extra = reference_policies(&machines, true);
        let request = Request {
            trace: &trace,
            keep_going,
            max_accesses,
            policies,
            machines,
            threads,
            curves,
            misses_over_time: false,
            warm_up,
            restarts,
            memory: Some(&memory),
            cache: cache.as_ref(),
            explain_plan: None,
            watch: run,
        };
        compare_trace(request, extra)
    })?;
    Ok(Comparison(answer))
}

#[pymethods]
impl Comparison {
    /// The comparison as JSON, schema `broadleaf.compare/1`.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        json(&self.0.comparison).map_err(|failure| exception(py, &failure))
    }

    /// The comparison as a table for people, at most `width` columns wide.
    fn text(&self, width: Option<usize>) -> String {
        let view = TextView {
            width,
            ..TextView::default()
        };
        let answer = &self.0;
        let mut text =
            answer.with_context(|comparison, context| comparison_table(comparison, context, view));
        let plots = curves(&self.0.comparison.results, Glyphs::Braille, view);
        if !plots.is_empty() {
            text.push('\n');
            text.push_str(&plots);
        }
        text
    }

    /// The report page.
    fn html(&self, py: Python<'_>) -> PyResult<String> {
        let page = page(&self.0.comparison, &self.0.references);
        page.map_err(|failure| exception(py, &failure))
    }

    /// The curves as SVG, or the page walks of policies by machines if there are no curves.
    fn svg(&self, py: Python<'_>) -> PyResult<String> {
        let ComparisonAnswer {
            comparison,
            references,
            ..
        } = &self.0;
        let picture = match comparison.results.iter().any(|one| one.curve.is_some()) {
            true => curves_svg(comparison),
            false => matrix_svg(comparison, references),
        };
        picture.map_err(|error| invalid(py, error))
    }

    /// The results: one row for each policy and machine.
    fn table(&self) -> PyResult<Table> {
        let refusals: Vec<&str> = Refusal::ALL.iter().map(|refusal| refusal.name()).collect();
        let batch = of_comparison(&self.0.comparison, &refusals);
        batch
            .map(Table)
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    /// The curves: one row for each policy, machine and geometry of a TLB.
    fn curves(&self) -> PyResult<Table> {
        let batch = of_curves(&self.0.comparison);
        batch
            .map(Table)
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }
}
