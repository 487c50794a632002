//! The arguments of `compare`.

use std::num::NonZero;
use std::path::PathBuf;

use broadleaf_machine::grid_kinds;
use broadleaf_study::compare::{ComparisonFormat, warm_up_share};
use clap::{Args, ValueEnum};

use super::number::{count, instructions};
use super::{Bound, CacheUse, MemoryArgs, PageFile, ResultFile};
use crate::commands::offered;

/// Replay a trace under several policies and show what each saves and costs
///
/// Replays each policy with the same references on the same TLBs, so that the policies alone make
/// the differences. Every number is an exact count. For a recording in windows, estimates for the
/// whole program follow.
///
/// TRACE is a recording, a Lackey text, or `-` for either on standard input. With several traces, a
/// table of means follows: means of ratios to the policy 4k, not of counts. A machine is a name of
/// `broadleaf list machines`, a TOML file, or `native` for the machine that fits this computer's
/// processor.
///
/// With --memory, a policy may run out of memory. This is a result and not a failure: a warning
/// says how much memory would have been enough. The exit status is 0 even if no policy reached the
/// end of the trace.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf compare gzip.bl
  broadleaf compare gzip.bl --policy 4k --policy freebsd --policy pop-64
  broadleaf compare gzip.bl --machine skylake --machine mine.toml --format json -o gzip.json
  broadleaf compare gzip.bl --policy 4k,pop-64 --curve
  broadleaf compare gzip.bl --html gzip.html                a page of figures to look at
  broadleaf compare gzip.bl --policy 4k,pop-64,linux --memory 75% --over-time
  broadleaf compare gzip.bl --policy pop-64 --policy 'promote if populated >= 64 and age >= 1e6'
  broadleaf compare gzip.bl sort.bl --policy 4k,pop-64          two traces, and means of ratios
  broadleaf compare gcc.bl xz.bl --together --machine chen2014-4core-scattered
  broadleaf compare ls.lackey
  valgrind --tool=lackey --trace-mem=yes --log-fd=9 ls 9>&1 >/dev/null | broadleaf compare -

The meaning of figures: broadleaf list metrics. The effect of a policy: broadleaf explain NAME.")]
pub(crate) struct Compare {
    /// The traces: files, or `-` for standard input
    #[arg(required = true)]
    pub(crate) trace: Vec<PathBuf>,

    /// Replay a policy, or several separated by commas; may be given several times [default: the
    /// nineteen that need no frames of memory: see `by_default` in `broadleaf list policies
    /// --format json`]
    ///
    /// An expression may replace a name: 'promote if populated >= 64 and age >= 1e6'. `broadleaf
    /// explain promote` lists the values that an expression may use.
    #[arg(
        long,
        value_name = "NAME",
        value_parser = offered::policies(),
        hide_possible_values = true
    )]
    pub(crate) policy: Vec<String>,

    /// Read a TOML file of expressions with names (NAME = "promote if ..."), for --policy; without
    /// --policy, all of them are compared
    #[arg(long, value_name = "FILE")]
    pub(crate) policies: Option<PathBuf>,

    /// Replay on a machine: a name, a pattern such as 'skylake*', a TOML file, or a grid; several
    /// are separated by commas
    #[arg(
        long,
        long_help = machine_help(),
        value_name = "NAME|FILE.toml|GRID",
        default_value = "skylake",
        value_parser = offered::machines(),
        hide_possible_values = true
    )]
    pub(crate) machine: Vec<String>,

    #[command(flatten)]
    pub(crate) memory: MemoryArgs,

    /// Plot TLB misses over time below the table, for each policy; with --memory, the use of memory
    ///
    /// JSON has `misses_over_time` for each result: the misses of each of 1,024 intervals of the
    /// trace. This takes one more replay, which leaves out no visit. With --memory, JSON has the
    /// samples of memory as `over_time`.
    #[arg(long, conflicts_with = "restart")]
    pub(crate) over_time: bool,

    /// With a recording in windows, count no misses in this share of each window: TLBs warm up
    #[arg(long, value_name = "PERCENT", default_value = "20%", value_parser = warm_up_share)]
    pub(crate) warm_up: f64,

    /// Count and plot the misses of TLBs of every other size too
    ///
    /// Sizes are up to 4096 sets of 1 to 16 ways, and up to 4096 entries if fully associative. All
    /// TLBs have exact LRU and hold one page size. The table shows the misses as plots and tables,
    /// JSON as `curve`, CSV and Parquet as one row for each point, and SVG as a picture.
    #[arg(long)]
    pub(crate) curve: bool,

    /// Record maps of memory over time under these policies, for JSON and --html [default with
    /// --html: the recommended policy and 4k]
    ///
    /// A map has the pages, walks and decisions of each block. It takes a replay of its own.
    #[arg(long, value_name = "NAME", value_parser = offered::policies())]
    #[arg(hide_possible_values = true)]
    pub(crate) map: Vec<String>,

    /// Let each instruction begin again after a TLB miss, from its first reference on
    ///
    /// Processors whose TLBs software fills do so. An instruction that refers to several pages may
    /// then miss again on a page that its own miss displaced: the counts are those of `record
    /// --engine trap`. TRACE must be a recording of `broadleaf record`.
    #[arg(long)]
    pub(crate) restart: bool,

    /// Run all traces at the same time, a core each, on a machine with caches
    ///
    /// The table says how fast each program is beside the others, and which program took cache from
    /// which. Record each program with --grain line. Without --policy, the policies are those of
    /// Chen 2014: 4k, coloured(by=core), fixed-2m and scattered(by=core), as far as the machine can
    /// run them.
    #[arg(long, conflicts_with_all = ["curve", "restart", "over_time", "explain_plan"])]
    #[arg(conflicts_with_all = ["html", "map"])]
    pub(crate) together: bool,

    /// With --together, count the first N instructions of each program [default: all]
    ///
    /// A program that has done its work goes on, so that the others have its load. At the end of
    /// its trace it begins again.
    #[arg(long, value_name = "N", value_parser = instructions, requires = "together")]
    pub(crate) work: Option<u64>,

    /// With --together, move each program forward by N instructions before the mix begins
    ///
    /// Memory sees the references of these instructions. TLBs and caches do not, so they are empty
    /// then: --warm fills them.
    #[arg(long, value_name = "N", value_parser = instructions, requires = "together")]
    pub(crate) skip: Option<u64>,

    /// With --together, run N instructions of each program before the counts begin
    #[arg(long, value_name = "N", value_parser = instructions, requires = "together")]
    pub(crate) warm: Option<u64>,

    /// Set the format of the results
    #[arg(long, default_value = "table")]
    pub(crate) format: CompareFormat,

    #[command(flatten)]
    pub(crate) result: ResultFile,

    #[command(flatten)]
    pub(crate) page: PageFile,

    #[command(flatten)]
    pub(crate) bound: Bound,

    #[command(flatten)]
    pub(crate) cache: CacheUse,

    /// Show which accelerators the replay uses, and why it does not use the others
    ///
    /// No result depends on an accelerator. The plan goes to standard error, before the replay.
    #[arg(long)]
    pub(crate) explain_plan: bool,

    /// Compare a damaged or truncated trace up to the damage, and report the loss
    ///
    /// The exit status is 0 if the trace has an access before the damage, otherwise 2.
    #[arg(long)]
    pub(crate) keep_going: bool,

    /// Replay on N threads; no result depends on N [default: as many as the process may use]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) threads: Option<NonZero<usize>>,
}

/// The formats of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareFormat {
    /// Text for people, with a recommendation
    Table,
    /// One object, schema broadleaf.compare/1
    Json,
    /// One row for each trace, policy and machine; with --curve, one for each point of a curve
    Csv,
    /// The columns of CSV, typed, as Apache Parquet
    Parquet,
    /// A picture of the page walks of policies by machines, or with --curve, of the curves
    Svg,
}

impl From<CompareFormat> for ComparisonFormat {
    fn from(format: CompareFormat) -> Self {
        match format {
            CompareFormat::Table => Self::Table,
            CompareFormat::Json => Self::Json,
            CompareFormat::Csv => Self::Csv,
            CompareFormat::Parquet => Self::Parquet,
            CompareFormat::Svg => Self::Svg,
        }
    }
}

/// The long help of `--machine`, with the kinds of grids of the catalogue.
fn machine_help() -> String {
    let kinds: Vec<&str> = grid_kinds().map(|(kind, _)| kind.name).collect();
    format!(
        "Replay on a machine: a name, a pattern such as 'skylake*', a TOML file, or a grid; \
         several are separated by commas\n\nA grid is a family of TLBs: \
         superpage:entries=32..512,sizes=4k+64k. Its kinds are {}. `|` separates values; a..b \
         means powers of two, a..b:2 every second number. Other keys are those of a machine's \
         file.\n\n`native` means this computer, by `broadleaf probe` or by its processor.",
        kinds.join(", ")
    )
}
