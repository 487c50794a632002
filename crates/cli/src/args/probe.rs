//! The arguments of `probe`.

use std::path::PathBuf;

use clap::Args;

use super::TableOrJson;
use crate::commands::offered::machines;

/// Measure the data TLBs of this machine, and write its machine file
///
/// Runs pointer chases on one processor, and finds what they determine, each value with a
/// confidence: capacities, ways and index bits of both levels, their inclusion and replacement, the
/// cost of second-level hits and walks, dependent and independent loads by span, and the cost of
/// page faults, zeroing and unmapping. Chases are judged by the processor's counter of TLB misses,
/// or by time if there is none. A value that the chases do not determine is named as open, and is
/// never guessed.
///
/// The machine file is `broadleaf/machine.toml` in XDG_CONFIG_HOME, or in ~/.config. `--machine
/// native` then means that machine, on the processor that was measured. Other programs on the
/// processor disturb the times: leave the machine alone meanwhile. A probe takes half a minute, or
/// a few minutes on a busy machine.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf probe                        measure, and write the file of --machine native
  broadleaf probe -o mine.toml --quick
  broadleaf probe --format json | jq '.undetermined'
  broadleaf probe --machine skylake      what the chases find on a modelled machine")]
pub(crate) struct ProbeArgs {
    /// Write the machine file to FILE instead of the user's own
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Overwrite the machine file if it exists
    #[arg(long)]
    pub(crate) force: bool,

    /// Make fewer trials, and leave long spans out
    #[arg(long)]
    pub(crate) quick: bool,

    /// Run the chases on this processor, by number [default: the last one]
    #[arg(long, value_name = "N")]
    pub(crate) cpu: Option<usize>,

    /// Run the chases on a modelled machine, by name or TOML file, and write no file
    #[arg(
        long,
        value_name = "NAME",
        value_parser = machines(),
        hide_possible_values = true,
        conflicts_with_all = ["output", "force", "quick", "cpu"]
    )]
    pub(crate) machine: Option<String>,

    /// Set the format of the result
    #[arg(long, default_value = "table")]
    pub(crate) format: TableOrJson,
}
