//! Names of the catalogues, and the build.

use broadleaf_machine::machine_names;
use broadleaf_metrics::all_metrics;
use broadleaf_policy::Refusal;
use broadleaf_study::catalogues::policy_names;
use broadleaf_study::provenance::provenance;
use pyo3::prelude::*;

use crate::errors::invalid;

/// The names of a catalogue: `policies`, `machines`, `metrics` or `refusals`.
#[pyfunction]
pub(crate) fn names(py: Python<'_>, of: &str) -> PyResult<Vec<String>> {
    let owned = |name: &str| name.to_owned();
    match of {
        "policies" => Ok(policy_names().map(owned).collect()),
        "machines" => Ok(machine_names().map(owned).collect()),
        "metrics" => Ok(all_metrics().map(|metric| owned(metric.name)).collect()),
        "refusals" => Ok(Refusal::ALL
            .iter()
            .map(|refusal| owned(refusal.name()))
            .collect()),
        other => Err(invalid(
            py,
            format!(
                "no catalogue is called {other:?}: write policies, machines, metrics or refusals"
            ),
        )),
    }
}

/// The metrics: name, unit, and meaning in a sentence.
#[pyfunction]
pub(crate) fn metrics() -> Vec<(&'static str, &'static str, &'static str)> {
    all_metrics()
        .map(|metric| (metric.name, metric.unit, metric.sentence))
        .collect()
}

/// The version and the commit of this build.
#[pyfunction]
pub(crate) fn build() -> (String, String) {
    let build = provenance("");
    (build.version, build.commit)
}
