//! A result record with its answer, as `--format json` prints both.

use broadleaf_metrics::PageAnswer;
use serde::Serialize;

/// A result record, and its answer in one field more.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Answered<'a, Record> {
    /// The record.
    #[serde(flatten)]
    pub record: &'a Record,
    /// The sentence and the commands that the table and the page have too.
    pub answer: &'a PageAnswer,
}
