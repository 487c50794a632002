//! Reports on live processes, and on a governor's work.

use crate::{HeatReport, Provenance};
use serde::Serialize;
use std::collections::BTreeMap;

/// The name and version of the schema of [`LiveReport`].
pub const REPORT_SCHEMA: &str = "broadleaf.report/1";

/// The result of `report`; with [`Governed`], the result of `run` and `attach`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LiveReport {
    /// [`REPORT_SCHEMA`].
    pub schema: String,
    /// The processes.
    pub processes: Vec<ProcessReport>,
    /// Processes without access, with the reason.
    pub unseen: Vec<UnseenProcess>,
    /// Obstacles to superpages on this machine, with remedies.
    pub notes: Vec<String>,
    /// The work of a governor.
    #[serde(flatten)]
    pub governed: Option<Governed>,
    /// The provenance of this result.
    pub provenance: Provenance,
}

/// A process that this user cannot examine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnseenProcess {
    /// The process id.
    pub pid: u32,
    /// The program's name; empty if unknown.
    pub command: String,
    /// The reason.
    pub reason: String,
}

/// The state of one process.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProcessReport {
    /// The process id.
    pub pid: u32,
    /// The program's name.
    pub command: String,
    /// The resident memory, in bytes.
    pub rss_bytes: u64,
    /// The resident memory in superpages, in bytes.
    pub huge_bytes: u64,
    /// Blocks by kind of memory. Counted blocks lie in one mapping and have at least one resident
    /// page.
    pub blocks: BlockCounts,
    /// The counted blocks of base pages, by the number of resident base pages.
    pub population_histogram: Vec<PopulationBar>,
    /// The forecast of each policy.
    pub policies: Vec<PolicyForecast>,
    /// The use of the memory, if it was watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heat: Option<HeatReport>,
}

/// The number of blocks by kind of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BlockCounts {
    /// Private memory that begins as zeroes.
    pub anonymous: u64,
    /// Memory that processes can share, without a file on a disk.
    pub shmem: u64,
    /// Files.
    pub file: u64,
}

/// A bar of the histogram: blocks by the number of resident base pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PopulationBar {
    /// The minimum number of resident base pages.
    pub from: u32,
    /// The maximum number of resident base pages.
    pub to: u32,
    /// The number of blocks.
    pub blocks: u64,
    /// The number of blocks of anonymous memory.
    pub anonymous: u64,
    /// The number of blocks of shared memory.
    pub shmem: u64,
    /// The number of blocks of files.
    pub file: u64,
}

/// The forecast of a policy's effect on a process now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyForecast {
    /// The policy, with its parameters.
    pub policy: String,
    /// The number of blocks that would become superpages.
    pub would_promote: u64,
    /// The additional memory of the process, in bytes.
    pub added_bytes: u64,
    /// The resident memory in superpages after the promotions, in bytes.
    pub covered_bytes: u64,
    /// The number of refused blocks, by reason.
    pub refusals: BTreeMap<String, u64>,
}

/// The work of a governor, from start to end.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Governed {
    /// The policy, with its parameters.
    pub policy: String,
    /// True if the governor only reported its decisions.
    pub dry_run: bool,
    /// The number of blocks that became superpages; with `dry_run`, the largest number of pending
    /// promotions.
    pub promotions: u64,
    /// The number of superpages broken to give memory back.
    pub demotions: u64,
    /// The number of superpages that programs broke.
    pub broken_by_programs: u64,
    /// Refusals by reason: the number of refused blocks. A block counts once for each reason.
    pub refusals: BTreeMap<String, u64>,
    /// The peak of the memory that superpages added, in bytes, by the content of blocks at
    /// promotion.
    pub added_bytes_peak: u64,
    /// The memory that superpages added, at the last observation, in bytes.
    pub added_bytes: u64,
    /// The memory charged to the budget at the last observation, in bytes: an upper bound of the
    /// memory that superpages of any maker added.
    pub charged_bytes: u64,
    /// The memory that demotions gave back, in bytes.
    pub returned_bytes: u64,
    /// The peak of the memory in superpages, over all processes together, in bytes. A superpage
    /// that several processes map after a fork counts for each.
    pub huge_bytes_peak: u64,
    /// Processor time of the governor, in seconds.
    pub governor_cpu_seconds: f64,
    /// The part of the governor's processor time in which the kernel made and broke superpages.
    pub acting_cpu_seconds: f64,
    /// The stalls of programs while superpages were made or broken.
    pub stalls: Stalls,
    /// The time from start to end, in seconds.
    pub elapsed_seconds: f64,
    /// The page faults of the processes, as far as the governor saw them.
    pub page_faults: u64,
    /// Processor time of the program and its awaited children, in seconds; `None` if the governor
    /// did not start the program.
    pub program_cpu_seconds: Option<f64>,
    /// The part of `program_cpu_seconds` in user mode, which page sizes change by TLB misses.
    pub program_user_seconds: Option<f64>,
    /// The peak resident memory of any of the program's processes, in bytes; `None` if the governor
    /// did not start the program.
    pub program_rss_bytes_peak: Option<u64>,
    /// The program's exit status, or 128 plus the signal number; `None` if the governor did not
    /// start the program, or if the program still runs.
    pub exit_status: Option<i32>,
    /// The signal that ended the program, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_by_signal: Option<i32>,
}

/// The calls that make and break superpages. The kernel holds the lock of the program's address
/// space during a call, so the whole call counts as a stall: an upper bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Stalls {
    /// The number of calls.
    pub count: u64,
    /// The 99th percentile of the call times, in seconds.
    pub p99_seconds: f64,
    /// The longest call, in seconds.
    pub max_seconds: f64,
    /// The time of all calls, in seconds.
    pub total_seconds: f64,
    /// The user's limit of a call's time, in seconds; `None` without a limit.
    pub allowed_seconds: Option<f64>,
    /// The number of calls that exceeded the limit.
    pub too_long: u64,
}

/// The name and version of the schema of [`BaselineReport`].
pub const BASELINE_SCHEMA: &str = "broadleaf.baseline/1";

/// Runs of a program with base pages, with huge pages, and with and without a policy, in turns.
/// Runs at the same index belong to one round.
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
    /// The runs without the policy, as the system is set, in order.
    pub without: Vec<RunFigures>,
    /// The runs with base pages alone, in order.
    pub base_pages: Vec<RunFigures>,
    /// The runs with huge pages wherever they fit, in order.
    pub huge_pages: Vec<RunFigures>,
    /// The provenance of this result.
    pub provenance: Provenance,
}

/// The figures of one run of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RunFigures {
    /// The time from start to end, in seconds.
    pub elapsed_seconds: f64,
    /// Processor time of the program and its awaited children, in seconds.
    pub cpu_seconds: f64,
    /// The part of `cpu_seconds` in user mode. Page sizes change its time by TLB misses.
    pub user_seconds: f64,
    /// The part of `cpu_seconds` in the kernel. Page sizes change its time by page faults.
    pub system_seconds: f64,
    /// The program's page faults.
    pub page_faults: u64,
    /// The peak resident memory of any of the program's processes, in bytes.
    pub rss_bytes_peak: u64,
    /// The peak of the memory in superpages, in bytes; `None` without a governor.
    pub huge_bytes_peak: Option<u64>,
    /// Processor time of the governor, in seconds; `None` without a governor.
    pub governor_cpu_seconds: Option<f64>,
    /// The part of `governor_cpu_seconds` in which the kernel made and broke superpages for the
    /// program: system time that the program takes itself where it gets superpages at faults.
    /// `None` without a governor.
    pub acting_cpu_seconds: Option<f64>,
    /// The superpages that the governor made; `None` without a governor.
    pub promotions: Option<u64>,
    /// Loads that missed all TLBs; `None` if the processor does not count them.
    pub tlb_misses: Option<u64>,
    /// Cycles of the program; `None` if the processor does not count them.
    pub cycles: Option<u64>,
}
