//! The result of counting TLB misses by traps.

use crate::Provenance;
use serde::Serialize;

/// The name and version of the schema of [`Trapped`].
pub const TRAP_SCHEMA: &str = "broadleaf.trap/1";

/// The result of `record --engine trap`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trapped {
    /// [`TRAP_SCHEMA`].
    pub schema: String,
    /// The command and its arguments.
    pub command: Vec<String>,
    /// The machine whose TLBs were modelled.
    pub machine: String,
    /// The policy: base pages, or pages of one size wherever they fit.
    pub policy: String,
    /// How pages were closed: `userfaultfd` or `protection`.
    pub mechanism: String,
    /// The exit status of the program; `None` if a signal ended it.
    pub exit_status: Option<i32>,
    /// The number of the signal that ended the program.
    pub signal: Option<i32>,
    /// References to data that missed the first level: each trapped.
    pub l1_misses: u64,
    /// References that missed the first level and hit the second.
    pub l2_hits: u64,
    /// References that missed two levels and hit the third.
    pub l3_hits: u64,
    /// References that missed every level: each walked the page table.
    pub walks: u64,
    /// Walks that ended at a superpage.
    pub superpage_walks: u64,
    /// Walks for a page whose block had an entry without the page.
    pub subblock_misses: u64,
    /// The cycles of all walks, by the machine's costs.
    pub walk_cycles: u64,
    /// System calls of the program.
    pub system_calls: u64,
    /// System calls for which every page was opened, since their arguments are not known.
    pub calls_with_open_pages: u64,
    /// Instructions that were executed with every page open, since they needed more pages than the
    /// TLB has entries.
    pub steps: u64,
    /// Threads that the program started. They share one TLB.
    pub threads: u64,
    /// Processes that the program started. Their misses do not count.
    pub processes: u64,
    /// Programs that replaced the first one. Their misses count.
    pub programs: u64,
    /// True if a program that the engine could not load replaced this one: counting ended then.
    pub ended_early: bool,
    /// The time that the program ran, in seconds.
    pub elapsed_seconds: f64,
    /// The processor time of the program with its traps, in seconds.
    pub user_seconds: f64,
    /// The processor time of the kernel for both, in seconds.
    pub system_seconds: f64,
    /// The provenance of this result.
    pub provenance: Provenance,
}
