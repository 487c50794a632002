//! The arguments of `import`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Grain;

/// Convert another tool's trace to a recording
///
/// Formats: `lackey`, the text of `valgrind --tool=lackey --trace-mem=yes`. Its instruction lines count instructions, a
/// modify line is a load and then a store, Valgrind's own lines are skipped. A line that is none of these is refused with
/// its number.
///
/// Lackey records no mappings: every block is later taken to be anonymous memory that could become a superpage.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf import lackey ls.lackey                     writes ls.bl
  valgrind --tool=lackey --trace-mem=yes --log-fd=9 ls 9>&1 >/dev/null | broadleaf import lackey - -o ls.bl")]
pub(crate) struct Import {
    /// What wrote the trace
    pub(crate) format: Format,

    /// The file to read; `-` for standard input
    pub(crate) input: PathBuf,

    /// Where to write the trace [default: INPUT with the ending .bl]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// The unit of a visit
    #[arg(long, default_value = "page")]
    pub(crate) grain: Grain,

    /// Overwrite FILE where it exists
    #[arg(long)]
    pub(crate) force: bool,
}

/// Formats of other tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text of Valgrind's Lackey
    Lackey,
}
