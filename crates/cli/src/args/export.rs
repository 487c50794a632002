//! The arguments of `export`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};

use super::Bound;

/// Convert a recording to another tool's format
///
/// `broadleaf explain FORMAT` says what the format holds. What the format or the recording lacks is
/// said at the end. An output whose name ends in .xz, .gz, .zst or .lz4 is compressed.
#[derive(Debug, Args)]
#[command(
    allow_missing_positional = true,
    after_long_help = "\
Examples:
  broadleaf export champsim gzip.bl                     writes gzip.champsimtrace
  broadleaf export champsim gzip.bl -o gzip.champsimtrace.xz
  broadleaf export gzip.bl --to champsim -o -           the same, on standard output"
)]
pub(crate) struct Export {
    /// The format to write
    #[arg(value_parser = exportable(), required_unless_present = "to")]
    pub(crate) format: Option<String>,

    /// The recording, a file, or - for standard input
    pub(crate) trace: PathBuf,

    /// The format to write, instead of FORMAT
    #[arg(long, value_name = "FORMAT", value_parser = exportable(), conflicts_with = "format")]
    pub(crate) to: Option<String>,

    /// Write the export to FILE, - for standard output [default: TRACE with the format's ending]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Overwrite FILE if it exists
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) bound: Bound,
}

fn exportable() -> PossibleValuesParser {
    let formats = broadleaf_import::exportable();
    PossibleValuesParser::new(formats.map(|(format, _)| {
        PossibleValue::new(format.described.name).help(format.described.summary)
    }))
}
