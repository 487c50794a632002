//! Arguments of commands that read a trace whose size does not bound its number of accesses.

use clap::Args;

/// Limits how much of a trace a command reads.
#[derive(Debug, Args)]
pub(crate) struct Bound {
    /// Read a recording that holds at most N accesses [default: 2^30, and 65536 more for each byte
    /// of the file]
    ///
    /// A loop that a program executes often takes few bytes. A small file may therefore hold more
    /// accesses than a command can read in a day. Pages that system calls populate have a limit of
    /// their own, of one page for every 16 accesses.
    #[arg(long, value_name = "N")]
    pub(crate) max_accesses: Option<u64>,
}
