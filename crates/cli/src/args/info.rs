//! The arguments of `info`.

use std::path::PathBuf;

use clap::Args;

use super::{Bound, TableOrJson};

/// Describe a trace
///
/// Prints the header of the trace (the command, its machine, the recorder's version), the numbers
/// of accesses, pages and events, the mappings, processes and threads, and whether the trace is
/// complete.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf info gzip.bl
  broadleaf info gzip.bl --format json | jq .pages")]
pub(crate) struct InfoArgs {
    /// The trace: a file, or `-` for standard input
    pub(crate) trace: PathBuf,

    /// Set the format of the description
    #[arg(long, default_value = "table")]
    pub(crate) format: TableOrJson,

    /// Read a damaged or truncated trace up to the damage, and report the loss
    #[arg(long)]
    pub(crate) keep_going: bool,

    #[command(flatten)]
    pub(crate) bound: Bound,
}
