//! The arguments of `import`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};

use super::Grain;

/// Convert another tool's trace to a recording
///
/// `broadleaf explain FORMAT` says what a format holds and what is kept of it. Files may be
/// compressed with gzip, xz, zstd or LZ4. A record that cannot be is refused with its number and
/// place, and nothing is written.
///
/// No foreign format records mappings: every block is later taken to be anonymous memory that could
/// become a superpage.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf import lackey ls.lackey                     writes ls.bl
  broadleaf import drmemtrace drmemtrace.ls.4711.dir    writes drmemtrace.ls.4711.bl
  broadleaf import champsim 605.mcf.champsimtrace.xz -o mcf.bl
  valgrind --tool=lackey --trace-mem=yes --log-fd=9 ls 9>&1 >/dev/null |
    broadleaf import lackey - -o ls.bl")]
pub(crate) struct Import {
    /// The format of the trace
    #[arg(value_parser = importable())]
    pub(crate) format: String,

    /// The file or folder to read; `-` for standard input
    pub(crate) input: PathBuf,

    /// Write the trace to FILE [default: INPUT with the ending .bl]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// The unit of a visit
    #[arg(long, default_value = "page")]
    pub(crate) grain: Grain,

    /// Import the pages that instructions are fetched from as well
    #[arg(long, alias = "code")]
    pub(crate) instructions: bool,

    /// Keep physical addresses: the trace becomes one of a whole system
    #[arg(long)]
    pub(crate) physical: bool,

    /// Overwrite FILE if it exists
    #[arg(long)]
    pub(crate) force: bool,
}

fn importable() -> PossibleValuesParser {
    let formats = broadleaf_import::importable();
    PossibleValuesParser::new(formats.map(|(format, _)| {
        PossibleValue::new(format.described.name).help(format.described.summary)
    }))
}
