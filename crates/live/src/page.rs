//! Report pages of live processes.

use broadleaf_metrics::{BaselineReport, LiveReport};
use broadleaf_report::{Page, baseline_answer, live_answer};
use broadleaf_study::failure::Failure;

/// Returns the page of processes, or of a governor's work, as HTML.
///
/// # Errors
/// If the report has no form in JSON.
pub fn live_page(report: &LiveReport) -> Result<String, Failure> {
    Page::answering(report, &live_answer(report)).map_err(Failure::failed)
}

/// Returns the page of a program that was measured in turns, as HTML.
///
/// # Errors
/// If the report has no form in JSON.
pub fn baseline_page(report: &BaselineReport) -> Result<String, Failure> {
    Page::answering(report, &baseline_answer(report)).map_err(Failure::failed)
}
