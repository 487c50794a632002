//! The arguments of `paper`.

use std::path::PathBuf;

use clap::Args;

use super::PageFile;
use crate::commands::offered;

/// Repeat a paper's experiments, and print its figures beside ours
///
/// Each experiment prints a table: the published figures, ours, and whether our figures agree with
/// each claim of the paper. The last line counts the claims that agree. Papers: navarro2002
/// (reservation-based superpages of several sizes: best case, each size alone, fragmented memory, a
/// server beside a seeker of contiguity, adversaries, demotion), romer1995 (superpages that TLB
/// misses pay for: misses, time, memory and page sizes under each of its policies), talluri1995
/// (superpage and subblock TLBs: chip areas, access times, execution times from the thesis's
/// misses; misses, speedups, placement of pages and page tables of ten recorded programs), chen2014
/// (superpages beside page colouring, in a cache that four programs share: throughput, fairness and
/// misses of sixteen mixes of recorded programs), zhu2018 (eighteen policies of promotion: misses,
/// zeroed pages and disk reads of seventeen recorded programs).
///
/// Counts are exact, speedups are estimates from them. Without --full, programs are reference
/// streams modelled on the kernels of the paper's programs, in less memory. This takes less than
/// two minutes. With --full, memory and programs have the paper's sizes, which takes much longer.
/// Installed programs (gcc, sqlite3, xz, python3; compress and ngspice for romer1995) are then
/// recorded and replayed as well. talluri1995, chen2014 and zhu2018 record at every scale and take
/// longer; --tiny needs gcc alone. With -o, an interrupted run of talluri1995 or zhu2018 goes on
/// where it ended, and chen2014 keeps its recordings.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf paper navarro2002
  broadleaf paper romer1995
  broadleaf paper talluri1995 -o talluri               keeps all cells of Appendix I
  broadleaf paper chen2014 -o chen                     keeps recordings of the ten programs
  broadleaf paper zhu2018 -o zhu                       keeps all points of figure 5.1
  broadleaf paper navarro2002 --full -o navarro        keeps tables and recordings
  broadleaf paper navarro2002 --cycles-per-access 3    on a slower processor")]
pub(crate) struct PaperArgs {
    /// The paper: navarro2002, romer1995, talluri1995, chen2014, zhu2018
    #[arg(value_name = "PAPER", value_parser = offered::papers(), hide_possible_values = true)]
    pub(crate) name: String,

    /// Use the paper's sizes, and record real programs as well
    #[arg(long)]
    pub(crate) full: bool,

    /// Use the smallest sizes, for a quick test of the command
    #[arg(long, conflicts_with = "full")]
    pub(crate) tiny: bool,

    /// Set the cycles of an access that misses no TLB [default: 1.5; 3 for romer1995 and
    /// talluri1995; chen2014 estimates all cycles, and zhu2018 needs none]
    #[arg(long, value_name = "CYCLES", value_parser = cycles)]
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

    /// Record programs of zhu2018 in the guest in FOLDER as well, with its kernel's references
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
