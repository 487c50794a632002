//! The arguments of `paper`.

use std::path::PathBuf;

use broadleaf_study::papers::{default_cycles, list_of_names, long_help};
use clap::Args;

use super::PageFile;
use crate::commands::offered;

/// Repeat a paper's experiments, and print its figures beside ours
#[derive(Debug, Args)]
#[command(long_about = long_help(), after_long_help = "\
Examples:
  broadleaf paper navarro2002
  broadleaf paper romer1995
  broadleaf paper talluri1995 -o talluri               keeps the tables and recordings
  broadleaf paper navarro2002 --full -o navarro        real programs too, at the paper's sizes
  broadleaf paper navarro2002 --cycles-per-access 3    on a slower processor")]
pub(crate) struct PaperArgs {
    #[arg(
        help = format!("The paper: {}", list_of_names()),
        value_name = "PAPER",
        value_parser = offered::papers(),
        hide_possible_values = true
    )]
    pub(crate) name: String,

    /// Use the paper's sizes, and record real programs as well
    #[arg(long)]
    pub(crate) full: bool,

    /// Use the smallest sizes, for a quick test of the command
    #[arg(long, conflicts_with = "full")]
    pub(crate) tiny: bool,

    #[arg(
        long,
        help = format!(
            "Set the cycles of an access that misses no TLB [default: {}]",
            default_cycles()
        ),
        value_name = "CYCLES",
        value_parser = cycles
    )]
    pub(crate) cycles_per_access: Option<f64>,

    /// Turn a mechanism of the paper's system off, to see which claims need it (`broadleaf explain
    /// navarro` names them)
    #[arg(long, value_name = "MECHANISM")]
    pub(crate) without: Option<String>,

    /// Exit with status 1 if a claim of the paper does not agree
    #[arg(long)]
    pub(crate) strict: bool,

    /// Write the tables to FOLDER as well: each as CSV, all claims as claims.csv, and all as text;
    /// recordings are kept there
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,

    /// Record programs in the guest in FOLDER as well, with its kernel's references
    #[arg(long, value_name = "FOLDER")]
    pub(crate) guest: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) page: PageFile,

    /// Overwrite the page and the tables that FOLDER has
    #[arg(long)]
    pub(crate) force: bool,
}

/// Parses the number of cycles of an access.
fn cycles(text: &str) -> Result<f64, String> {
    let cycles = text.parse::<f64>().ok();
    cycles
        .filter(|cycles| (0.1..=1000.0).contains(cycles))
        .ok_or_else(|| "an access takes 0.1 to 1000 cycles".to_owned())
}
