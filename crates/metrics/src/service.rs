//! The list of the processes that the rules of a service pick.

use crate::Provenance;
use serde::Serialize;

/// The name and version of the schema of [`ServiceListing`].
pub const SERVICE_SCHEMA: &str = "broadleaf.service/1";

/// The result of `service --once`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServiceListing {
    /// [`SERVICE_SCHEMA`].
    pub schema: String,
    /// The file of rules.
    pub file: String,
    /// The number of rules in the file.
    pub rules: u64,
    /// The processes that a rule picks, in order.
    pub processes: Vec<PickedReport>,
    /// Obstacles to superpages on this machine, with remedies.
    pub notes: Vec<String>,
    /// The provenance of this result.
    pub provenance: Provenance,
}

/// A process that a rule picks, with the service's decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PickedReport {
    /// The process id.
    pub pid: u32,
    /// The program's name.
    pub command: String,
    /// The number of the process's user; `None` if it cannot be read.
    pub uid: Option<u32>,
    /// The name of the user, or the number if the user has no name.
    pub user: Option<String>,
    /// The line of the file on which the rule begins, counted from 1.
    pub rule_line: u64,
    /// What the service does with the process.
    pub action: PickedAction,
    /// The policy, with its parameters; `None` if the process is not governed.
    pub policy: Option<String>,
    /// The forecast of the policy; `None` if the memory of the process was not read.
    pub forecast: Option<PickedForecast>,
    /// The reason why the memory of a governed process was not read.
    pub reason: Option<String>,
}

/// What a service does with a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PickedAction {
    /// The process is governed.
    Govern,
    /// A rule says that the process is left alone.
    Ignore,
    /// The process is left alone, because superpages are forbidden to it.
    Forbidden,
}

/// What a service would do to a process now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PickedForecast {
    /// The memory in superpages now, in bytes.
    pub huge_bytes: u64,
    /// The number of blocks that would become superpages.
    pub would_promote: u64,
    /// The memory that these superpages would add, in bytes.
    pub added_bytes: u64,
}
