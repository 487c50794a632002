//! The arguments of `advise`.

use std::num::NonZero;
use std::path::PathBuf;

use broadleaf_model::Costs;
use clap::{Args, ValueEnum};

use super::number::count;
use super::{Bound, CacheUse, FilesAt, PageFile, ResultFile};
use crate::commands::offered;
use broadleaf_study::advise::formats::AdviceFormat;
use broadleaf_study::costs::costs;

/// Find the parts of a program's memory that are worth huge pages
///
/// Chooses huge pages (superpages) with the whole trace in view, as the policy `offline` does. For
/// each range of huge pages, a table shows its mapping, the page walks and page faults that the
/// range saves, and the memory that it takes. The best ranges come first. All ranges together are
/// replayed too. Memory does not run short.
///
/// Other formats express the same for programs that follow the advice: C that calls madvise, a
/// profile for CBMM, a layout for Mosalloc.
///
/// If the trace was recorded with --sites, a second table names the lines of the source whose
/// memory gains. Call stacks can be written for flame graphs.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf advise gzip.bl
  broadleaf advise gzip.bl --by byte --top 5                     where little memory gains most
  broadleaf advise gzip.bl --files memory --costs zero-kib=100   files in memory, quick zeroing
  broadleaf advise gzip.bl --machine neoverse-n1 --policy 'offline(cycles=all,sizes=64k+2m)'
  broadleaf advise gzip.bl --format madvise > advice.c
  broadleaf advise gzip.bl --also madvise=advice.c --also json=advice.json
  broadleaf advise gzip.bl --format flamegraph -o gzip.svg       of a recording with --sites")]
pub(crate) struct Advise {
    /// The trace: a file, or `-` for standard input
    pub(crate) trace: PathBuf,

    /// The machine to advise for, by name or as a TOML file; `native` means the machine that fits
    /// this computer's processor
    #[arg(
        long,
        value_name = "NAME|FILE.toml",
        default_value = "skylake",
        value_parser = offered::machines(),
        hide_possible_values = true
    )]
    pub(crate) machine: String,

    /// The policy that chooses huge pages: offline, with parameters for the cycles to minimise and
    /// the page sizes
    #[arg(
        long,
        value_name = "NAME",
        default_value = "offline(cycles=all,sizes=2m)"
    )]
    pub(crate) policy: String,

    /// Set where pages of files are before their first use
    #[arg(long, value_name = "WHERE", default_value = "disk")]
    pub(crate) files: FilesAt,

    /// Override event costs, in cycles, as for `compare --costs`
    #[arg(long, value_name = "NAME=CYCLES,...", value_parser = costs)]
    pub(crate) costs: Option<Costs>,

    /// Set the order of the ranges
    #[arg(long, value_name = "WHAT", default_value = "gain")]
    pub(crate) by: RankBy,

    /// Print only the best N ranges that the format can express [default: 20 in the table, all in
    /// other formats]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) top: Option<NonZero<usize>>,

    /// Set the format of the advice
    #[arg(long, default_value = "table")]
    pub(crate) format: AdviseFormat,

    /// Write another format to a file as well, from the same replay; may be given several times
    #[arg(long, value_name = "FORMAT=FILE", value_parser = also)]
    pub(crate) also: Vec<(AdviseFormat, PathBuf)>,

    #[command(flatten)]
    pub(crate) result: ResultFile,

    #[command(flatten)]
    pub(crate) page: PageFile,

    #[command(flatten)]
    pub(crate) bound: Bound,

    #[command(flatten)]
    pub(crate) cache: CacheUse,

    /// Read a damaged or truncated trace up to the damage, and report the loss
    #[arg(long)]
    pub(crate) keep_going: bool,

    /// Replay on N threads; no result depends on N [default: as many as the process may use]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) threads: Option<NonZero<usize>>,
}

/// The order of the ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RankBy {
    /// By the cycles that they gain
    Gain,
    /// By the cycles that each byte of their huge pages gains
    Byte,
}

impl From<RankBy> for broadleaf_study::advise::RankBy {
    fn from(by: RankBy) -> Self {
        match by {
            RankBy::Gain => Self::Gain,
            RankBy::Byte => Self::Byte,
        }
    }
}

/// The formats of advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AdviseFormat {
    /// Text for people
    Table,
    /// One object, schema broadleaf.advice/1
    Json,
    /// A call of madvise(2) for each range, in C
    Madvise,
    /// A profile for CBMM's kernel
    Cbmm,
    /// A layout for Mosalloc
    Mosalloc,
    /// The call stacks of the allocations that gain, one a line, with the cycles gained
    Folded,
    /// The same stacks as a flame graph, in SVG
    Flamegraph,
    /// The same stacks as `perf script` prints samples
    Perf,
}

impl From<AdviseFormat> for AdviceFormat {
    fn from(format: AdviseFormat) -> Self {
        match format {
            AdviseFormat::Table => Self::Table,
            AdviseFormat::Json => Self::Json,
            AdviseFormat::Madvise => Self::Madvise,
            AdviseFormat::Cbmm => Self::Cbmm,
            AdviseFormat::Mosalloc => Self::Mosalloc,
            AdviseFormat::Folded => Self::Folded,
            AdviseFormat::Flamegraph => Self::Flamegraph,
            AdviseFormat::Perf => Self::Perf,
        }
    }
}

/// Parses a format and a file, as `json=advice.json`.
fn also(text: &str) -> Result<(AdviseFormat, PathBuf), String> {
    let (format, path) = text.split_once('=').ok_or("write it as json=advice.json")?;
    Ok((AdviseFormat::from_str(format, false)?, PathBuf::from(path)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_study::catalogues::ADVICE_FORMATS;

    #[test]
    fn every_format_for_another_program_is_in_the_catalogue() {
        let names: Vec<&str> = ADVICE_FORMATS.iter().map(|format| format.name).collect();
        let formats = AdviseFormat::value_variants().iter();
        let others =
            formats.filter(|format| ![AdviseFormat::Table, AdviseFormat::Json].contains(format));
        let others = others.filter_map(ValueEnum::to_possible_value);
        let others: Vec<String> = others.map(|value| value.get_name().to_owned()).collect();
        assert_eq!(names, others);
    }
}
