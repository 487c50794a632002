//! The arguments of `demo`.

use std::path::PathBuf;

use clap::Args;

/// Record, compare and recommend, for a program that is already installed
///
/// Records `sort` while it sorts generated lines, compares all policies on the recording and says
/// which to choose and why. Takes some seconds. The last line names the commands for your own
/// program. The recording is removed at the end, unless -o names a file.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Keep the recording in FILE
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Overwrite FILE if it exists
    #[arg(long)]
    pub(crate) force: bool,
}
