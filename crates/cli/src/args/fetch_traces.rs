//! The arguments of `fetch-traces`.

use std::path::PathBuf;

use clap::Args;

/// Fetch public traces of a catalogue
///
/// CATALOGUE is the address of a list of traces: a TOML file, or the index page of a folder. No
/// address is built in. Without a name, the list is printed. A file that is there is not fetched
/// again, and an interrupted fetch goes on where it ended. Checksums of the list are verified.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf fetch-traces https://traces.example.org/champsim/          lists them
  broadleaf fetch-traces https://traces.example.org/list.toml mcf --into traces
  broadleaf compare traces/605.mcf.champsimtrace.xz")]
pub(crate) struct FetchTraces {
    /// The catalogue: `https://`, `http://`, or a file
    pub(crate) catalogue: String,

    /// The traces to fetch, by name or file
    #[arg(conflicts_with = "all")]
    pub(crate) names: Vec<String>,

    /// Fetch all traces of the catalogue
    #[arg(long)]
    pub(crate) all: bool,

    /// Write the traces to FOLDER
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub(crate) into: PathBuf,
}
