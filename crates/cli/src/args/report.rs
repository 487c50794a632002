//! The arguments of `report` and `top`.

use std::time::Duration;

use clap::Args;

use super::number::process;
use super::{PageFile, TableOrJson};
use crate::commands::offered;

/// Show how full the memory of running processes is, and what policies would do to it now
///
/// Looks at the page tables of processes and changes nothing. For each process, prints the memory
/// that lies in huge pages (superpages) already, the number of blocks of 2 MiB by the pages that
/// they hold, and a picture of the address space. For each policy, prints the blocks that it would
/// promote, the memory that this would add, and the resident memory that would lie in huge pages
/// then. These are the figures of `run` and `attach` without a limit on memory.
///
/// Looking at your own processes needs no privileges. Other processes need CAP_SYS_PTRACE or root.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf report $(pidof redis-server)
  broadleaf report 1234 --policy pop-64,pop-461
  broadleaf report 1234 --policy 'promote if populated >= 200 and writable'
  broadleaf report 1234 --heat 5               which blocks are used in five seconds
  broadleaf report --all                       every process, the most gain first
  broadleaf report --all --format json | jq '.processes[0]'

Exit status:
  0  done
  1  no process could be looked at
  2  the process or the policy does not exist")]
pub(crate) struct Report {
    /// The processes, by number
    #[arg(
        value_name = "PID",
        value_parser = process,
        required_unless_present = "all",
        conflicts_with = "all"
    )]
    pub(crate) pid: Vec<u32>,

    /// Show all processes that may be looked at, a line for each
    #[arg(long)]
    pub(crate) all: bool,

    /// Ask a policy, or several separated by commas; may be given several times [default:
    /// 4k,pop-64,pop-256,pop-461,greedy]
    #[arg(
        long,
        value_name = "NAME",
        value_parser = offered::policies(),
        hide_possible_values = true
    )]
    pub(crate) policy: Vec<String>,

    /// Watch for a time, in seconds, which blocks are used: by idle page tracking, DAMON, or
    /// reference bits
    #[arg(long, value_name = "SECONDS", value_parser = super::number::seconds, conflicts_with = "all")]
    pub(crate) heat: Option<Duration>,

    /// Use one source of heat alone: idle-pages, damon, damon-physical, cooling or mappings
    #[arg(long, value_name = "NAME", requires = "heat")]
    pub(crate) heat_source: Option<String>,

    /// Set the format of the report
    #[arg(long, default_value = "table")]
    pub(crate) format: TableOrJson,

    #[command(flatten)]
    pub(crate) page: PageFile,

    /// Overwrite the page if it exists
    #[arg(long, requires = "html")]
    pub(crate) force: bool,
}

/// Watch which processes would gain from huge pages, on the whole terminal
///
/// Shows the memory of each process, the share that lies in huge pages (superpages), and what a
/// policy would do now: the blocks that it would promote, the memory that would lie in huge pages
/// then, and the memory that this would add. Nothing is changed. Enter shows a picture of one
/// process, h the keys.
///
/// Looking at all memory of all processes takes time. So each refresh looks at a few processes
/// whose page faults or size have changed.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf top
  broadleaf top --policy pop-64 --interval 5000

If the output is no terminal: broadleaf report --all")]
pub(crate) struct Top {
    /// Set the policy
    #[arg(
        long,
        value_name = "NAME",
        default_value = "pop-256",
        value_parser = offered::policies(),
        hide_possible_values = true
    )]
    pub(crate) policy: String,

    /// Set the time between two refreshes, in milliseconds
    #[arg(long, value_name = "MS", default_value = "2000", value_parser = interval)]
    pub(crate) interval: Duration,
}

/// Parses a time between two refreshes, in milliseconds.
fn interval(text: &str) -> Result<Duration, String> {
    let milliseconds = text.parse::<u64>().ok();
    let fits = milliseconds.filter(|milliseconds| (100..=3_600_000).contains(milliseconds));
    fits.map(Duration::from_millis)
        .ok_or_else(|| "an interval is 100 to 3600000 milliseconds".to_owned())
}
