//! Answers with the commands to type now, and the record of a repeated paper.

use crate::Provenance;
use serde::Serialize;

/// The name and version of the schema of [`PageAnswer`].
pub const ANSWER_SCHEMA: &str = "broadleaf.answer/1";
/// The name and version of the schema of [`PaperRecord`].
pub const PAPER_SCHEMA: &str = "broadleaf.paper/1";

/// The recommended policy on one machine, with its reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Recommendation {
    /// The machine's name.
    pub machine: String,
    /// The chosen policy's name.
    pub policy: String,
    /// The reason, in a sentence.
    pub sentence: String,
    /// The change of the run time, in a few sentences; absent if nothing is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_time: Option<String>,
    /// The system time of page faults saved and huge pages made, in a sentence or two; absent
    /// without costs that were measured with the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_faults: Option<String>,
    /// The commands to type now, the most useful first; empty until the host fills it in.
    pub commands: Vec<SuggestedCommand>,
}

/// A command that a user can type, with its purpose.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SuggestedCommand {
    /// The purpose, in a few words.
    pub purpose: String,
    /// The command line, quoted for a shell; empty if the purpose says it all.
    pub command: String,
}

/// The head of a report page: the answer, and what to type now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PageAnswer {
    /// [`ANSWER_SCHEMA`].
    pub schema: String,
    /// The subject, in a few words.
    pub about: String,
    /// The answer: sentences, the most important one first.
    pub sentence: String,
    /// The commands to type now, the most useful first.
    pub commands: Vec<SuggestedCommand>,
}

impl PageAnswer {
    /// An answer without commands.
    pub fn new(about: impl Into<String>, sentence: impl Into<String>) -> Self {
        Self {
            schema: ANSWER_SCHEMA.to_owned(),
            about: about.into(),
            sentence: sentence.into(),
            commands: Vec::new(),
        }
    }

    /// Adds a command with its purpose.
    pub fn with(mut self, purpose: &str, command: impl Into<String>) -> Self {
        self.commands.push(SuggestedCommand {
            purpose: purpose.to_owned(),
            command: command.into(),
        });
        self
    }
}

/// The result of `paper`: tables, and claims with verdicts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PaperRecord {
    /// [`PAPER_SCHEMA`].
    pub schema: String,
    /// The name of the paper.
    pub paper: String,
    /// The title and the venue.
    pub title: String,
    /// The document with the published figures: `paper` or `slides`.
    pub source: String,
    /// The introduction to the tables.
    pub remarks: String,
    /// The scale: `tiny`, `quick` or `full`.
    pub scale: String,
    /// The tables, in order.
    pub tables: Vec<PaperTable>,
    /// The number of claims.
    pub claims: u64,
    /// The number of claims that agree.
    pub agreeing: u64,
    /// The number of claims that the figures neither support nor contradict.
    pub not_shown: u64,
    /// The provenance of this result.
    pub provenance: Provenance,
}

/// A table of an experiment. Cells are text, as the command prints them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PaperTable {
    /// The name of the table's file.
    pub name: String,
    /// The title.
    pub title: String,
    /// A description of the experiment.
    pub text: String,
    /// The heads of the columns.
    pub columns: Vec<String>,
    /// The rows; none if only files have them.
    pub rows: Vec<Vec<String>>,
    /// The number of rows that are left out.
    pub rows_left_out: u64,
    /// The claims of the paper that the table is about.
    pub claims: Vec<PaperVerdict>,
}

/// A claim of a paper with our verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PaperVerdict {
    /// The claim, as a sentence.
    pub claim: String,
    /// The verdict: `yes`, `no` or `not shown`.
    pub agrees: String,
    /// The magnitudes of the paper.
    pub paper: String,
    /// Our magnitudes.
    pub here: String,
    /// The reason, if the claim does not agree or magnitudes are far apart.
    pub reason: String,
}
