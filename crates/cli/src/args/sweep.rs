//! The arguments of `sweep` and `results`.

use std::num::NonZero;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::number::count;
use super::{CacheUse, ResultFile};

/// Run an experiment file: traces x policies x machines x memory
///
/// Each trace is a task. DIR receives a file of results for each finished task, so a sweep that
/// was killed goes on where it ended, and no finished cell is computed twice. `broadleaf explain
/// FILE.toml` shows the cells and an estimate of the time. Python's `broadleaf.sweep` runs the same
/// file on a cluster.
#[derive(Debug, Args)]
pub(crate) struct SweepArgs {
    /// The experiment file
    pub(crate) experiment: PathBuf,

    /// The folder of results, a Parquet data set; recorded programs are kept there too
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) cache: CacheUse,

    /// Use N threads for all tasks together; no result depends on N [default: as many as the
    /// process may use]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) threads: Option<NonZero<usize>>,
}

/// Show the results of sweeps: means by group, or SQL by an installed DuckDB
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf results DIR --where policy=pop-64 --by trace,memory_size --mean walk_cycles
  broadleaf results DIR --by policy,memory_size --mean walk_cycles --format svg -o means.svg
  broadleaf results DIR 'select trace, policy, l2_misses from results order by 3'")]
pub(crate) struct ResultsArgs {
    /// The folder of results
    pub(crate) folder: PathBuf,

    /// SQL on the view `results`, for the command duckdb or Python's module duckdb
    #[arg(conflicts_with_all = ["filter", "by", "mean", "format"])]
    pub(crate) sql: Option<String>,

    /// Keep rows of this value; may be given several times
    #[arg(long = "where", id = "filter", value_name = "COLUMN=VALUE")]
    pub(crate) filter: Vec<String>,

    /// Group by these columns [default: experiment, policy, machine]
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    pub(crate) by: Vec<String>,

    /// Show the means of these columns [default: l1_misses, l2_misses, walk_cycles, page_faults]
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    pub(crate) mean: Vec<String>,

    /// Set the format of the means
    #[arg(long, default_value = "table")]
    pub(crate) format: MeansFormat,

    #[command(flatten)]
    pub(crate) result: ResultFile,
}

/// The format of means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MeansFormat {
    /// A table: one row for each group
    Table,
    /// A picture: one panel for each mean. The last column of --by is the horizontal axis, and the
    /// others have a line for each of their values
    Svg,
}
