//! The arguments of `compare`.

use std::num::NonZero;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::number::count;
use super::{Bound, CacheUse, Memory, ResultFile};
use crate::commands::offered;

/// Replay a trace under several policies and show what each saves and costs
///
/// Each policy is replayed with the same references on the same TLBs, so that every difference is the policy's. Every
/// number is an exact count.
///
/// TRACE is a recording, a Lackey text, or `-` for either on standard input. A machine is a name of `broadleaf list
/// machines` or a TOML file.
///
/// With --memory, a policy may use memory up. That is a result and no failure: a warning says how much would have done, and the exit status is 0, even
/// if no policy got to the end of the trace.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf compare gzip.bl
  broadleaf compare gzip.bl --policy 4k --policy freebsd --policy pop-64
  broadleaf compare gzip.bl --machine skylake --machine mine.toml --format json -o gzip.json
  broadleaf compare gzip.bl --policy 4k,pop-64 --curve   how many entries the program wants
  broadleaf compare gzip.bl --policy 4k,pop-64,linux --memory 75% --over-time   what becomes of memory that runs short
  broadleaf compare gzip.bl --policy pop-64 --policy 'promote if populated >= 64 and age >= 1e6'
  broadleaf compare ls.lackey
  valgrind --tool=lackey --trace-mem=yes --log-fd=9 ls 9>&1 >/dev/null | broadleaf compare -

What the figures mean: broadleaf list metrics. What a policy does: broadleaf explain NAME.")]
pub(crate) struct Compare {
    /// The trace: a file, or `-` for standard input
    pub(crate) trace: PathBuf,

    /// A policy to replay, or several with commas; may be given several times [default: the nineteen that need no frames of memory: see `by_default` in `broadleaf list policies --format json`]
    ///
    /// An expression may stand in place of a name: 'promote if populated >= 64 and age >= 1e6'. `broadleaf explain promote` says what it may speak of.
    #[arg(long, value_name = "NAME", value_parser = offered::policies(), hide_possible_values = true)]
    pub(crate) policy: Vec<String>,

    /// A TOML file of expressions with names (NAME = "promote if ..."), for --policy; without --policy, all of them are compared
    #[arg(long, value_name = "FILE")]
    pub(crate) policies: Option<PathBuf>,

    /// A machine to replay on, by name or as a TOML file, or several with commas; may be given several times
    #[arg(
        long,
        value_name = "NAME|FILE.toml",
        default_value = "skylake",
        value_parser = offered::machines(),
        hide_possible_values = true
    )]
    pub(crate) machine: Vec<String>,

    #[command(flatten)]
    pub(crate) memory: Memory,

    /// With --memory: plot below the table how memory stood over time, for each policy
    #[arg(long, requires = "sized")]
    pub(crate) over_time: bool,

    /// Count and plot the misses of TLBs of every other size too
    ///
    /// Up to 4096 sets of 1 to 16 ways, and fully associative up to 4096 entries, all with exact LRU and for each page size by itself. The
    /// table shows them as plots and tables, JSON as `curve`.
    #[arg(long)]
    pub(crate) curve: bool,

    /// How to print the results
    #[arg(long, default_value = "table")]
    pub(crate) format: CompareFormat,

    #[command(flatten)]
    pub(crate) result: ResultFile,

    #[command(flatten)]
    pub(crate) bound: Bound,

    #[command(flatten)]
    pub(crate) cache: CacheUse,

    /// Compare a damaged or truncated trace up to the damage, and say how much was lost
    ///
    /// The exit status is 0 if an access stands before the damage, otherwise 2.
    #[arg(long)]
    pub(crate) keep_going: bool,

    /// Replay on N threads; no result depends on N [default: as many as the process may use]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) threads: Option<NonZero<usize>>,
}

/// Shapes of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareFormat {
    /// Text for people, with a recommendation
    Table,
    /// One object, schema broadleaf.compare/1
    Json,
    /// One row for each policy and machine
    Csv,
    /// The columns of CSV, typed, as Apache Parquet
    Parquet,
}
