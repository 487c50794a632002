//! Journals: a governor's observations, decisions and actions, tick by tick, as lines of JSON.
//!
//! The first line is a [`Header`]; each further line is one tick. A line holds only observations
//! that differ from the line before, so a tick without changes takes few bytes. Each line ends with
//! a checksum. One call writes a line, so a killed governor loses only the tick under way.

mod checksum;
mod forks;
mod growth;
mod line;
mod read;
mod replay;
mod superpages;
mod what_if;
mod write;

use crate::budget::Budgets;
use crate::plan::{Outcome, TickPlan};
use crate::seen::Observation;
use serde::{Deserialize, Serialize};

pub use read::{JournalError, Ticks, read};
pub use replay::{Difference, Estimate, Unreplayable, Verified, under, verify};
pub use write::Journal;

/// The name and version of the journal format.
pub const JOURNAL_SCHEMA: &str = "broadleaf.journal/2";
/// The earlier version, whose records have no checksums. Journals of this version can be read, but
/// not written.
const WITHOUT_CHECKSUMS: &str = "broadleaf.journal/1";

/// The first line of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// [`JOURNAL_SCHEMA`], or the version before in an older journal.
    pub schema: String,
    /// The version of the program that wrote the journal.
    pub version: String,
    /// The policy, by the name that [`broadleaf_policy::parse`] accepts.
    pub policy: String,
    /// The budgets of the governor.
    pub budgets: Budgets,
    /// The command line of the governor.
    pub command: Vec<String>,
    /// True if the governor changed nothing.
    pub dry: bool,
    /// The start time in seconds since 1970.
    pub started: u64,
}

/// One tick of a journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TickRecord {
    /// The observation.
    pub seen: Observation,
    /// The decision.
    pub plan: TickPlan,
    /// The outcomes of the decision.
    pub outcomes: Vec<Outcome>,
}
