//! Report pages: results with everything that a page needs to explain them.

use broadleaf_machine::Machine;
use broadleaf_metrics::{CellResult, MachineSummary, StructureSummary};
use broadleaf_report::Page;
use serde::Serialize;
use serde_json::{Value, json};

use crate::catalogues::{CatalogueName, entries};
use crate::failure::Failure;

/// Returns the page of a result as HTML. `references` are results of other policies, which the page
/// compares with.
///
/// # Errors
/// If the result has no form in JSON.
pub fn page(result: &impl Serialize, references: &[CellResult]) -> Result<String, Failure> {
    let summaries: Vec<Value> = entries(CatalogueName::Policies)?
        .json
        .into_iter()
        .map(|policy| json!({ "name": policy["name"], "summary": policy["summary"] }))
        .collect();
    let policies = json!({ "schema": "broadleaf.policies/1", "policies": summaries });
    let page = Page::new()
        .with(result)
        .and_then(|page| page.with_references(references))
        .and_then(Page::with_metrics)
        .and_then(|page| page.with(&policies))
        .map_err(Failure::failed)?;
    Ok(page.html())
}

/// Describes the TLBs of machines.
pub(crate) fn machine_summaries(machines: &[Machine]) -> Vec<MachineSummary> {
    let structure = |structure: &broadleaf_tlb::Structure| StructureSummary {
        name: structure.name.clone(),
        level: structure.level as u64,
        sizes: structure
            .pages
            .iter()
            .map(|(size, _)| size.bytes())
            .collect(),
        sets: structure.sets() as u64,
        ways: structure.ways as u64,
    };
    let summary = |machine: &Machine| MachineSummary {
        name: machine.name.clone(),
        structures: machine.design.structures().iter().map(structure).collect(),
    };
    machines.iter().map(summary).collect()
}
