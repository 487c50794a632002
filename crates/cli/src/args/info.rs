//! The arguments of `info`.

use std::path::PathBuf;

use clap::Args;

use super::{Bound, TableOrJson};

/// Describe a trace
///
/// Prints the trace's header (the command, its machine, the recorder's version), how many accesses, pages and events it
/// holds, its mappings, processes and threads, and whether it is complete.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf info gzip.bl
  broadleaf info gzip.bl --format json | jq .pages")]
pub(crate) struct Info {
    /// The trace: a file, or `-` for standard input
    pub(crate) trace: PathBuf,

    /// How to print it
    #[arg(long, default_value = "table")]
    pub(crate) format: TableOrJson,

    /// Read a damaged or truncated trace up to the damage, and say how much was lost
    #[arg(long)]
    pub(crate) keep_going: bool,

    #[command(flatten)]
    pub(crate) bound: Bound,
}
