//! The arguments of `demo`.

use std::path::PathBuf;

use clap::Args;

use super::PageFile;

/// Record, compare and recommend, for a program that is already installed
///
/// Records `sort` while it sorts generated lines, compares all policies on the recording and says
/// which to choose and why. Takes some seconds. A page of figures stays in the current folder, and
/// its name is printed. The recording is removed at the end, unless -o names a file.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Keep the recording in FILE
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) page: PageFile,

    /// Overwrite FILE if it exists
    #[arg(long)]
    pub(crate) force: bool,
}
