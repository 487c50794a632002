//! Report pages: results with everything that a page needs to explain them.

mod file;

use broadleaf_machine::Machine;
use broadleaf_metrics::{
    CellResult, MachineSummary, PaperRecord, RangeAdvice, Replayed, StructureSummary,
};
use broadleaf_report::{
    Answered, Page, WithReferences, advice_answer, comparisons, paper_answer, replay_answer,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::catalogues::{CatalogueName, entries};
use crate::compare::ComparisonAnswer;
use crate::failure::Failure;

pub use file::{open_page, page_path, write_page};

/// Returns the page of a comparison as HTML.
///
/// # Errors
/// If the comparison has no form in JSON.
pub fn comparison_page(answer: &ComparisonAnswer) -> Result<String, Failure> {
    page(&answer.comparison, &answer.references)
}

/// Returns the page of the comparisons of one trace or several as HTML. A page of several opens
/// with the means over all traces.
///
/// # Errors
/// If a comparison has no form in JSON.
pub fn comparisons_page(answers: &[ComparisonAnswer]) -> Result<String, Failure> {
    match answers {
        [answer] => comparison_page(answer),
        several => {
            let references: Vec<&[CellResult]> =
                several.iter().map(|answer| &*answer.references).collect();
            let all: Vec<WithReferences<'_>> = several
                .iter()
                .map(|answer| (&answer.comparison, &*answer.references))
                .collect();
            page_of(&comparisons(&all), &references)
        }
    }
}

/// Returns the page of a result as HTML. `references` are results of other policies, which the page
/// compares with.
///
/// # Errors
/// If the result has no form in JSON.
pub fn page(result: &impl Serialize, references: &[CellResult]) -> Result<String, Failure> {
    page_of(result, &[references])
}

/// The page of a result, with the references of each of its traces.
fn page_of(result: &impl Serialize, references: &[&[CellResult]]) -> Result<String, Failure> {
    let summaries: Vec<Value> = entries(CatalogueName::Policies)?
        .json
        .into_iter()
        .map(|policy| json!({ "name": policy["name"], "summary": policy["summary"] }))
        .collect();
    let policies = json!({ "schema": "broadleaf.policies/1", "policies": summaries });
    let page = Page::new().with(result);
    let page = references.iter().fold(page, |page, references| {
        page.and_then(|page| page.with_references(references))
    });
    let page = page
        .and_then(Page::with_metrics)
        .and_then(|page| page.with(&policies))
        .map_err(Failure::failed)?;
    Ok(page.html())
}

/// Returns the page of advice as HTML.
///
/// # Errors
/// If the advice has no form in JSON.
pub fn advice_page(advice: &RangeAdvice) -> Result<String, Failure> {
    Page::answering(advice, &advice_answer(advice)).map_err(Failure::failed)
}

/// Returns the page of a replayed journal as HTML.
///
/// # Errors
/// If the result has no form in JSON.
pub fn replay_page(replayed: &Replayed) -> Result<String, Failure> {
    let answer = &replay_answer(replayed);
    let record = replayed;
    Page::answering(&Answered { record, answer }, answer).map_err(Failure::failed)
}

/// Returns the page of a repeated paper as HTML.
///
/// # Errors
/// If the result has no form in JSON.
pub fn paper_page(paper: &PaperRecord) -> Result<String, Failure> {
    Page::answering(paper, &paper_answer(paper)).map_err(Failure::failed)
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
