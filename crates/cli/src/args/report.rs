//! The arguments of `report` and `top`.

use std::time::Duration;

use clap::Args;

use super::TableOrJson;
use super::number::process;
use crate::commands::offered;

/// Say how full the memory of running processes is, and what policies would do to it now
///
/// Looks at the page tables of processes and changes nothing. For each process: how much of it lies in superpages already, how many blocks of 2 MiB hold how
/// many pages, what each policy would promote, what memory that would add, and how much of what is resident would lie in superpages then, as `run` and `attach` would do it
/// without a limit on memory; and a picture of the address space.
///
/// A process of one's own can be looked at without privileges, others with CAP_SYS_PTRACE or as root.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf report $(pidof redis-server)
  broadleaf report 1234 --policy pop-64,pop-461
  broadleaf report 1234 --policy 'promote if populated >= 200 and writable'
  broadleaf report --all                                 every process on a line, the one first that gains most
  broadleaf report --all --format json | jq '.processes[0]'

Exit status:
  0  done
  1  nothing could be looked at
  2  there is no such process, or no such policy")]
pub(crate) struct Report {
    /// The numbers of processes
    #[arg(
        value_name = "PID",
        value_parser = process,
        required_unless_present = "all",
        conflicts_with = "all"
    )]
    pub(crate) pid: Vec<u32>,

    /// Every process that may be looked at, one on a line
    #[arg(long)]
    pub(crate) all: bool,

    /// A policy to ask, or several with commas; may be given several times [default: 4k,pop-64,pop-256,pop-461,greedy]
    #[arg(long, value_name = "NAME", value_parser = offered::policies(), hide_possible_values = true)]
    pub(crate) policy: Vec<String>,

    /// How to print it
    #[arg(long, default_value = "table")]
    pub(crate) format: TableOrJson,
}

/// Watch on the whole terminal which processes would gain from superpages
///
/// Shows processes with what they hold, how much of it lies in superpages, and what a policy would do to them now: blocks that it would promote, how much would lie
/// in superpages then, and the memory that would add. It only looks. Enter shows a picture of one process; h says which keys there are.
///
/// Looking at all memory of all processes takes time, so each refresh looks at a few whose page faults or size have changed.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf top
  broadleaf top --policy pop-64 --interval 5000

Where output is no terminal: broadleaf report --all")]
pub(crate) struct Top {
    /// The policy to ask
    #[arg(long, value_name = "NAME", default_value = "pop-256", value_parser = offered::policies(), hide_possible_values = true)]
    pub(crate) policy: String,

    /// How long to wait between two refreshes, in milliseconds
    #[arg(long, value_name = "MS", default_value = "2000", value_parser = interval)]
    pub(crate) interval: Duration,
}

/// A time in milliseconds that a terminal can follow.
fn interval(text: &str) -> Result<Duration, String> {
    let milliseconds = text.parse::<u64>().ok();
    let fits = milliseconds.filter(|milliseconds| (100..=3_600_000).contains(milliseconds));
    fits.map(Duration::from_millis)
        .ok_or_else(|| "an interval is 100 to 3600000 milliseconds".to_owned())
}
