//! The arguments of `demo`.

use std::path::PathBuf;

use clap::Args;

/// Do the whole job on a program that is there already
///
/// Records `sort` while it sorts generated lines, compares all policies on the recording and says which to choose and why.
/// Takes a minute or two. The recording is thrown away unless -o says where to keep it.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Keep the recording in FILE
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Overwrite FILE where it exists
    #[arg(long)]
    pub(crate) force: bool,
}
