//! The arguments of `reduce`.

use std::num::NonZero;
use std::path::PathBuf;

use broadleaf_study::reduce::PartNumber;
use clap::Args;

use super::Bound;
use super::number::count;
use crate::commands::offered;

/// Write a smaller copy of a trace that compares faster
///
/// Most visits of a program are sure to hit the first level of a processor's TLB, whatever the
/// policy. The reduced form holds the other visits, and the time between them. The reduced form is
/// no estimate: every count stays the same.
///
/// `compare` reads TRACE.reduced in place of TRACE, if it was made from TRACE for the first levels
/// of the machines that are compared. For a machine with a structure for each page size, such as
/// skylake, the reduced form is read more than ten times as fast. For several machines, or one
/// structure for both page sizes, many more visits must stay. Then one reduced form for each
/// machine (with -o) is faster. Curves need the trace itself.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf reduce gzip.bl                               writes gzip.bl.reduced
  broadleaf compare gzip.bl                              reads gzip.bl.reduced
  broadleaf reduce gzip.bl --machine skylake-va23 -o gzip.va23.reduced
  broadleaf compare gzip.va23.reduced --machine skylake-va23
  broadleaf reduce gzip.bl --part 2/5 -o gzip.2          the second of five machines
  broadleaf reduce --join gzip.? -o gzip.bl.reduced      joins the files of all five")]
pub(crate) struct Reduce {
    /// The trace, a file
    #[arg(required_unless_present = "join")]
    pub(crate) trace: Option<PathBuf>,

    /// Reduce part I of N of a recording alone: N machines share the work
    #[arg(long, value_name = "I/N")]
    pub(crate) part: Option<PartNumber>,

    /// Join the parts of a trace, given in any order, to the reduced form of the whole trace
    #[arg(long, value_name = "PART", num_args = 1.., conflicts_with_all = ["trace", "part",
        "machine", "threads", "max_accesses"])]
    pub(crate) join: Vec<PathBuf>,

    /// Keep the visits that this machine needs, by name or as a TOML file, or several separated by
    /// commas; may be given several times
    #[arg(
        long,
        value_name = "NAME|FILE.toml",
        default_value = "skylake",
        value_parser = offered::machines(),
        hide_possible_values = true
    )]
    pub(crate) machine: Vec<String>,

    /// Write the reduced form to FILE [default: TRACE.reduced beside the trace, where `compare`
    /// looks]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Overwrite FILE if it exists
    #[arg(long)]
    pub(crate) force: bool,

    /// Read on N threads [default: as many as the process may use]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) threads: Option<NonZero<usize>>,

    #[command(flatten)]
    pub(crate) bound: Bound,
}
