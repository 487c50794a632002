//! The arguments of `validate`.

use std::ffi::OsString;
use std::num::NonZero;
use std::path::PathBuf;

use broadleaf_live::validate::CountersFile;
use clap::{Args, ValueHint};

use super::TableOrJson;
use super::number::rounds;
use crate::commands::offered::machines;

/// Predict a program's behaviour with huge pages (THP), measure it, and compare
///
/// Runs the command with 4 KiB pages, as the kernel makes huge pages (madvise and always), under
/// policies, and with huge pages wherever they fit, in turns. Then records the command, replays it,
/// and prints predictions beside measurements: run time, page faults, huge pages, TLB misses. The
/// last lines say whether the order and the changes are as predicted.
///
/// The run time is predicted between the two ends that were measured. Whole predictions, from the
/// machine's description alone, have a table of their own. The runs have no input, and their
/// standard output is thrown away. Runs of a second or more and 7 rounds show differences of a few
/// percent.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf validate -- ./benchmark
  broadleaf validate --policy pop-256,pop-64 --rounds 9 -- ./benchmark
  broadleaf validate --set-switch -- ./benchmark         `always` too, where it is not set
  broadleaf validate --keep benchmark.bl --format json -o benchmark.json -- ./benchmark")]
pub(crate) struct ValidateArgs {
    /// Run the program under a policy, or several separated by commas; may be given several times
    #[arg(
        long,
        value_name = "NAME",
        default_value = "pop-256",
        value_delimiter = ','
    )]
    pub(crate) policy: Vec<String>,

    /// Predict for a machine: a name or a TOML file [default: that of this computer]
    #[arg(long, value_name = "NAME|FILE", value_parser = machines(), hide_possible_values = true)]
    pub(crate) machine: Option<String>,

    /// Run each setting N times, after one round that is dropped
    #[arg(long, value_name = "N", default_value = "7", value_parser = rounds)]
    pub(crate) rounds: NonZero<u32>,

    /// Set the kernel's switch of huge pages while the program runs, and set it back, so that
    /// madvise and always are measured whatever the machine's setting is. Other programs that start
    /// memory meanwhile get that setting too. Needs root
    #[arg(long)]
    pub(crate) set_switch: bool,

    /// Draw the misses over time beside those of counters: FILE is the output of `perf stat -I 100
    /// -x,`, from this machine or another, while the program ran with SETTING [default: never]. May
    /// be given several times
    ///
    /// Misses of code are subtracted, and interpolated where they were not counted. Curves are
    /// smoothed by a mean filter of 77 intervals. `perf stat -I 100 -x, -o FILE -e
    /// L1-dcache-loads,L1-dcache-stores,dTLB-load-misses,dTLB-store-misses,iTLB-load-misses` writes
    /// such a file.
    #[arg(long, value_name = "[SETTING=]FILE", value_parser = str::parse::<CountersFile>)]
    pub(crate) counters: Vec<CountersFile>,

    /// Keep the recording in FILE [default: it is removed]
    #[arg(long, value_name = "FILE")]
    pub(crate) keep: Option<PathBuf>,

    /// Set the format of the result
    #[arg(long, default_value = "table")]
    pub(crate) format: TableOrJson,

    /// Write the result to FILE [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Overwrite files that exist
    #[arg(long)]
    pub(crate) force: bool,

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
