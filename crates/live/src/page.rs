//! Report pages of live processes.

use crate::govern::options_of;
use broadleaf_governor::Budgets;
use broadleaf_metrics::{BaselineReport, LiveReport, PageAnswer};
use broadleaf_report::{Answered, Page, baseline_answer, live_answer};
use broadleaf_study::answer::AnsweredProgram;
use broadleaf_study::answer::switches::of_program;
use broadleaf_study::failure::Failure;

/// Returns the page of processes, or of a governor's work, as HTML. `limits` holds the governor's
/// options that were set.
///
/// # Errors
/// If the report has no form in JSON.
pub fn live_page(report: &LiveReport, limits: &[String]) -> Result<String, Failure> {
    let answer = &live_answer(report, limits);
    let record = report;
    Page::answering(&Answered { record, answer }, answer).map_err(Failure::failed)
}

/// Returns the page of a program that was measured in turns, as HTML.
///
/// # Errors
/// If the report has no form in JSON.
pub fn baseline_page(report: &BaselineReport, answer: &PageAnswer) -> Result<String, Failure> {
    let record = report;
    Page::answering(&Answered { record, answer }, answer).map_err(Failure::failed)
}

/// Returns the answer of a program that was measured in turns, with the program's own switches. Its
/// commands keep the `limits` of the governor.
pub fn answer_of_baseline(report: &BaselineReport, limits: &Budgets) -> PageAnswer {
    let program = AnsweredProgram::of_command(report.command.clone());
    baseline_answer(report, &of_program(&program), &options_of(limits))
}
