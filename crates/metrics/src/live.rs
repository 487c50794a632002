//! What live processes look like, and what a governor did to them.

use crate::Provenance;
use serde::Serialize;
use std::collections::BTreeMap;

/// The name and version of the shape of [`LiveReport`].
pub const REPORT_SCHEMA: &str = "broadleaf.report/1";

/// The whole answer of `report`; with [`Governed`], that of `run` and `attach`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LiveReport {
    /// [`REPORT_SCHEMA`].
    pub schema: String,
    /// The processes.
    pub processes: Vec<ProcessReport>,
    /// Processes that could not be looked at, with the reason.
    pub unseen: Vec<UnseenProcess>,
    /// What stands in the way of superpages here, and what would help.
    pub notes: Vec<String>,
    /// What a governor did.
    #[serde(flatten)]
    pub governed: Option<Governed>,
    /// Who made this.
    pub provenance: Provenance,
}

/// A process that could not be looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnseenProcess {
    /// Its number.
    pub pid: u32,
    /// Its program's name; empty where even that is not known.
    pub command: String,
    /// Why not.
    pub reason: String,
}

/// What one process looks like.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProcessReport {
    /// Its number.
    pub pid: u32,
    /// Its program's name.
    pub command: String,
    /// Bytes that are resident.
    pub rss_bytes: u64,
    /// Bytes of them that lie in superpages.
    pub huge_bytes: u64,
    /// Blocks that lie wholly in one mapping and hold at least one resident page, by what stands behind them.
    pub blocks: BlockCounts,
    /// Those of them that are no superpages, by how many of their base pages are resident.
    pub population_histogram: Vec<PopulationBar>,
    /// What each policy would do now.
    pub policies: Vec<PolicyForecast>,
}

/// Blocks by what stands behind them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BlockCounts {
    /// Private memory that begins as zeroes.
    pub anonymous: u64,
    /// Memory that can be shared and has no file on a disk.
    pub shmem: u64,
    /// Files.
    pub file: u64,
}

/// Blocks of which so many base pages are resident.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PopulationBar {
    /// At least so many.
    pub from: u32,
    /// At most so many.
    pub to: u32,
    /// How many blocks.
    pub blocks: u64,
    /// How many of them are anonymous memory.
    pub anonymous: u64,
    /// How many are shared memory.
    pub shmem: u64,
    /// How many are of files.
    pub file: u64,
}

/// What a policy would do to a process now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyForecast {
    /// Its name, with its parameters.
    pub policy: String,
    /// Blocks that would become superpages.
    pub would_promote: u64,
    /// Bytes that the process would hold more.
    pub added_bytes: u64,
    /// Resident bytes that would lie in superpages, with those that do.
    pub covered_bytes: u64,
    /// Blocks that would stay as they are, by reason.
    pub refusals: BTreeMap<String, u64>,
}

/// What a governor did from its beginning to its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Governed {
    /// The policy, with its parameters.
    pub policy: String,
    /// Whether it only said what it would do.
    pub dry_run: bool,
    /// Blocks that became superpages; with `dry_run`, the most that were to become some at one time.
    pub promotions: u64,
    /// Superpages that were broken to give memory back.
    pub demotions: u64,
    /// Superpages that programs broke.
    pub broken_by_programs: u64,
    /// Blocks that stayed as they were for a reason, for each reason once.
    pub refusals: BTreeMap<String, u64>,
    /// The most that superpages had added at a time, by what blocks held when they were promoted.
    pub added_bytes_peak: u64,
    /// What they added when last looked at.
    pub added_bytes: u64,
    /// Bytes that counted against the budget when last looked at: an upper bound of what all
    /// superpages added, whoever made them.
    pub charged_bytes: u64,
    /// Bytes that demotions gave back.
    pub returned_bytes: u64,
    /// The most that stood in superpages at a time, in all of the processes together. Those that several map, after a fork, count in each.
    pub huge_bytes_peak: u64,
    /// Processor time of the governor, in seconds.
    pub governor_cpu_seconds: f64,
    /// That part of it in which the kernel made and broke superpages.
    pub acting_cpu_seconds: f64,
    /// The time that programs may have waited because superpages were made or broken.
    pub stalls: Stalls,
    /// From beginning to end, in seconds.
    pub elapsed_seconds: f64,
    /// Page faults of the processes, as far as they were seen.
    pub page_faults: u64,
    /// Processor time of the program and all that it waited for, in seconds; `None` where it was not started here.
    pub program_cpu_seconds: Option<f64>,
    /// The most that was resident of any of its processes, in bytes; `None` where it was not started here.
    pub program_rss_bytes_peak: Option<u64>,
    /// The program's exit status; 128 and the signal's number where one ended it; `None` where it was not started here or lives on.
    pub exit_status: Option<i32>,
    /// The signal that ended the program, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_by_signal: Option<i32>,
}

/// The calls that make and break superpages. The kernel holds the lock of the program's address
/// space meanwhile, so each call counts as a stall of its whole length: an upper bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Stalls {
    /// Calls.
    pub count: u64,
    /// 99 of 100 calls took no longer, in seconds.
    pub p99_seconds: f64,
    /// The longest call, in seconds.
    pub max_seconds: f64,
    /// The time of all calls, in seconds.
    pub total_seconds: f64,
    /// The longest time that the user allows a call, in seconds; `None` without such a limit.
    pub allowed_seconds: Option<f64>,
    /// Calls that took longer than that.
    pub too_long: u64,
}

/// The name and version of the shape of [`BaselineReport`].
pub const BASELINE_SCHEMA: &str = "broadleaf.baseline/1";

/// A program under a policy and without, run in turns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BaselineReport {
    /// [`BASELINE_SCHEMA`].
    pub schema: String,
    /// The command and its arguments.
    pub command: Vec<String>,
    /// The policy, with its parameters.
    pub policy: String,
    /// The runs under the policy, in order.
    pub with: Vec<RunFigures>,
    /// The runs without; the first of each was run beside the first of these, and so on.
    pub without: Vec<RunFigures>,
    /// Who made this.
    pub provenance: Provenance,
}

/// What one run of a program came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RunFigures {
    /// From beginning to end.
    pub elapsed_seconds: f64,
    /// Processor time of the program and all that it waited for.
    pub cpu_seconds: f64,
    /// Its page faults.
    pub page_faults: u64,
    /// The most that one of its processes held.
    pub rss_bytes_peak: u64,
    /// The most that stood in superpages; `None` without a governor.
    pub huge_bytes_peak: Option<u64>,
    /// Processor time of the governor; `None` without one.
    pub governor_cpu_seconds: Option<f64>,
    /// Loads whose page was in no TLB; `None` where the processor does not count them.
    pub tlb_misses: Option<u64>,
    /// Cycles of the program; `None` where the processor does not count them.
    pub cycles: Option<u64>,
}
