//! The arguments of `run` and `attach`.

use std::ffi::OsString;
use std::num::NonZero;
use std::path::PathBuf;

use broadleaf_governor::{Allowance, NotAnAllowance, StallLimit, percent};
use clap::{Args, ValueHint};

use super::number::{process, rounds};
use super::size::size;
use super::{PageFile, TableOrJson};

/// Run a program with huge pages (THP) where a policy wants them
///
/// Starts a command, looks at its memory several times a second, and has the kernel make huge pages
/// (superpages) of the blocks that the policy picks, within limits on memory and time. If memory is
/// short or huge pages added too much, huge pages are broken, starting with those that added most.
/// A block that the program itself broke up is left alone until the block is full again. Processes
/// that the command starts are governed as well.
///
/// From Linux 6.18 on, the kernel makes no other huge pages in these processes, so that the policy
/// is their only source. Nothing else changes for the program. It has its own input, output and
/// signals, and its exit status is the exit status of this command. At its end, a summary appears
/// on standard error.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf run redis-server
  broadleaf run --policy pop-64 --max-added 2G -- ./server     more memory for more speed
  broadleaf run --dry-run -- gcc -O2 -c big.c                  only report what would be done
  broadleaf run --baseline 5 -- ./benchmark                    with huge pages and without, in turns
  broadleaf run --format json -o run.json -- ./batch-job

Governing needs Linux 6.1 and CAP_SYS_NICE. Without them, a note names what is missing, and the
program runs without huge pages of the policy. --dry-run needs neither.")]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) govern: Govern,

    /// Measure: run the program N times with 4 KiB pages, as the system is set, under the policy
    /// and with huge pages wherever they fit, in turns, and print the differences. One more round
    /// comes first and is dropped. The program has no input, and its standard output is thrown away
    #[arg(
        long,
        value_name = "N",
        value_parser = rounds,
        conflicts_with_all = ["dry_run", "journal"]
    )]
    pub(crate) baseline: Option<NonZero<u32>>,

    /// The command and its arguments; `--` before it is optional. Everything after the command's
    /// name belongs to the command
    #[arg(
        trailing_var_arg = true,
        required = true,
        value_name = "COMMAND",
        value_hint = ValueHint::CommandWithArguments
    )]
    pub(crate) command: Vec<OsString>,
}

/// Make huge pages (THP) in programs that run already
///
/// Does what `run` does, for processes that run already and for processes that these start later.
/// The command ends when all of them have ended, or by Ctrl-C. Huge pages that exist then stay. The
/// kernel may make huge pages in these processes as well.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf attach 1234
  broadleaf attach $(pidof postgres) --max-added 5%
  broadleaf attach 1234 --for 10 --format json        ten seconds of it")]
pub(crate) struct Attach {
    /// The processes, by number
    #[arg(required = true, value_name = "PID", value_parser = process)]
    pub(crate) pids: Vec<u32>,

    #[command(flatten)]
    pub(crate) govern: Govern,

    /// End after SECONDS
    #[arg(long = "for", value_name = "SECONDS", value_parser = seconds)]
    pub(crate) seconds: Option<f64>,
}

/// The arguments of both commands.
#[derive(Debug, Args)]
pub(crate) struct Govern {
    /// Set the policy, which picks the blocks that become huge pages
    #[arg(long, value_name = "NAME", default_value = "pop-256")]
    pub(crate) policy: String,

    /// Limit the memory that huge pages add: a size, a share of the memory that the processes hold,
    /// or unlimited
    #[arg(long, value_name = "SIZE|PERCENT", default_value = "10%", value_parser = allowance)]
    pub(crate) max_added: Allowance,

    /// Keep this much memory available on the machine: below it, huge pages are broken and none are
    /// made
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = size)]
    pub(crate) keep_free: u64,

    /// Break huge pages, and make none, if a process waited for memory for this share of the last
    /// ten seconds
    #[arg(long, value_name = "PERCENT", default_value = "10%", value_parser = percent)]
    pub(crate) max_pressure: u32,

    /// Limit the share of one processor that looking at processes may take
    #[arg(long, value_name = "PERCENT", default_value = "0.5%", value_parser = percent)]
    pub(crate) max_cpu: u32,

    /// Limit the share of the time spent making huge pages, the time of one stall, or both as
    /// 80%,5ms. The program may wait while a huge page is made
    #[arg(
        long,
        value_name = "PERCENT|TIME",
        default_value = "80%",
        value_parser = str::parse::<StallLimit>
    )]
    pub(crate) max_stall: StallLimit,

    /// Set the minimum time between two looks, in milliseconds
    #[arg(
        long,
        value_name = "MS",
        default_value = "200",
        value_parser = clap::value_parser!(u64).range(1..=3_600_000)
    )]
    pub(crate) interval: u64,

    /// Write a journal of all observations and decisions to FILE, for `replay`
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,

    /// Report what would be done, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Set the format of the summary
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: TableOrJson,

    #[command(flatten)]
    pub(crate) page: PageFile,

    /// Write the summary to FILE [default: the table to standard error, JSON to standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Overwrite files that exist
    #[arg(long)]
    pub(crate) force: bool,
}

pub(super) fn allowance(text: &str) -> Result<Allowance, String> {
    text.parse()
        .map_err(|error: NotAnAllowance| error.to_string())
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| format!("\"{text}\" is no number of seconds"))?;
    match seconds > 0.0 && seconds <= 1e9 {
        true => Ok(seconds),
        false => Err("a number of seconds is more than 0 and at most 1e9".to_owned()),
    }
}
