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
use crate::plan::{Outcome, Plan};
use crate::seen::Seen;
use serde::{Deserialize, Serialize};

pub use read::{JournalError, Ticks, read};
pub use replay::{Difference, Estimate, Unreplayable, Verified, under, verify};
pub use write::Journal;

/// The name and version of the shape of journals.
pub const JOURNAL_SCHEMA: &str = "broadleaf.journal/2";
/// The version before, whose records have no checksums. It is read, and no longer written.
const WITHOUT_CHECKSUMS: &str = "broadleaf.journal/1";

/// What a journal begins with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// [`JOURNAL_SCHEMA`], or the version before in an older journal.
    pub schema: String,
    /// The version of the program that wrote it.
    pub version: String,
    /// The policy, by the name that makes it again.
    pub policy: String,
    /// What it might do.
    pub budgets: Budgets,
    /// The command line of the governor.
    pub command: Vec<String>,
    /// Whether nothing was done.
    pub dry: bool,
    /// When it began, in seconds since 1970.
    pub started: u64,
}

/// One tick, as it was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TickRecord {
    /// What was seen.
    pub seen: Seen,
    /// What was decided.
    pub plan: Plan,
    /// What came of it.
    pub outcomes: Vec<Outcome>,
}
