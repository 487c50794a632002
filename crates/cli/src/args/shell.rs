//! The arguments of `completions` and `man`.

use std::path::PathBuf;

use clap::Args;

/// Print a completion script for a shell
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf completions bash > ~/.local/share/bash-completion/completions/broadleaf
  broadleaf completions zsh > \"${fpath[1]}/_broadleaf\"")]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// Print a manual page, or write all of them to a folder
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf man | man -l -
  broadleaf man compare | man -l -
  broadleaf man -o /usr/local/share/man/man1")]
pub(crate) struct Man {
    /// The command whose page to print [default: broadleaf itself]
    #[arg(conflicts_with = "output")]
    pub(crate) command: Option<String>,

    /// Write the pages of all commands to FOLDER
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,

    /// Overwrite the pages that FOLDER has
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}
