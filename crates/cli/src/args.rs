//! The command line: the one table from which parsing, help, completions and manual pages come.

mod advise;
mod govern;
mod replay;
mod report;
mod service;

use std::ffi::OsString;
use std::num::NonZero;
use std::path::PathBuf;

use broadleaf_engine::Costs;
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::commands::costs::costs;
use crate::commands::memory::{Amount, part, swap};
use crate::commands::offered;
use crate::terminal::Color;

pub(crate) use advise::{Advise, AdviseFormat, RankBy};
pub(crate) use govern::{Attach, Govern, LiveFormat, Run};
pub(crate) use replay::{Replay, ReplayFormat};
pub(crate) use report::{Report, Top};
pub(crate) use service::Service;

/// Which page sizes should a program run with, and what would that cost?
///
/// Broadleaf records a program's memory references, replays them through page-size policies and a processor's TLBs, and
/// shows what each policy saves in TLB misses, page walks and page faults, and what it wastes in memory.
#[derive(Debug, Parser)]
#[command(
    name = "broadleaf",
    version,
    propagate_version = true,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Start with: broadleaf demo",
    after_long_help = "\
Examples:
  broadleaf demo                         the whole job on a program that is there already
  broadleaf record -o gzip.bl -- gzip -9 -k big.txt
  broadleaf compare gzip.bl              every policy on one table, and which to choose
  broadleaf compare gzip.bl --policy 4k --policy pop-64 --format csv
  broadleaf advise gzip.bl               which parts of its memory are worth superpages
  broadleaf report --all                 what superpages would do for running processes
  broadleaf list policies
  broadleaf explain pop-64

Results go to standard output, everything else to standard error.

Exit status:
  0  done
  1  the work failed
  2  the arguments or a file were wrong"
)]
pub(crate) struct Cli {
    /// When to use colours: auto is on a terminal, unless NO_COLOR is set
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub(crate) color: Color,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Record(Record),
    Import(Import),
    Info(Info),
    Compare(Box<Compare>),
    Advise(Advise),
    Run(Run),
    Attach(Attach),
    Replay(Replay),
    Service(Service),
    Reduce(Reduce),
    Report(Report),
    Top(Top),
    List(List),
    Explain(Explain),
    Paper(Paper),
    Demo(Demo),
    Completions(Completions),
    Man(Man),
}

/// Record a program's memory references
///
/// Runs a command and writes down every load and store that it makes, in exact order, with what happens to its mappings.
/// The command has its own standard input and output, and runs slower: by a factor of three to twenty.
///
/// The exit status is 0 where the recording is whole, whatever the command's own was; that is printed. A recording that
/// is cut short, by a signal or a full disk, can be read up to where it got (--keep-going).
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf record -- gzip -9 -k big.txt               writes gzip.bl, or gzip.1.bl if that exists
  broadleaf record -o cc.bl --follow-children -- gcc -O2 -c big.c
  broadleaf record -o server.bl -- redis-server        end it as you always do")]
pub(crate) struct Record {
    /// Where to write the trace [default: PROGRAM.bl, with a number where that exists]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// What does the recording
    #[arg(long, value_name = "ENGINE", default_value = "valgrind")]
    pub(crate) engine: Engine,

    /// What a visit names: pages are enough for page-size policies, lines make larger files
    #[arg(long, default_value = "page")]
    pub(crate) grain: Grain,

    /// Record the pages that instructions are fetched from as well
    #[arg(long)]
    pub(crate) instructions: bool,

    /// Record the processes that the command starts as well, each as an address space of its own
    #[arg(long)]
    pub(crate) follow_children: bool,

    /// Overwrite FILE where it exists
    #[arg(long)]
    pub(crate) force: bool,

    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// What can record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    /// A tool of ours for the distribution's Valgrind
    Valgrind,
}

/// The unit in which a trace names places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Grain {
    /// 4 KiB pages
    Page,
    /// 64-byte lines
    Line,
}

impl From<Grain> for broadleaf_trace::Grain {
    fn from(grain: Grain) -> Self {
        match grain {
            Grain::Page => Self::Page,
            Grain::Line => Self::Line,
        }
    }
}

/// Turn a trace that another tool wrote into one of ours
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

    /// What a visit names
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

/// Say what a trace holds
///
/// Prints the trace's header (the command, its machine, the recorder's version), how many accesses, pages and events it
/// holds, its mappings, processes and threads, and whether it is complete.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf info gzip.bl
  broadleaf info gzip.bl --format json | jq .pages")]
pub(crate) struct Info {
    /// The trace: a file, or `-` for standard input
    pub(crate) trace: PathBuf,

    /// How to print it
    #[arg(long, default_value = "table")]
    pub(crate) format: TableOrJson,

    /// Read a damaged or truncated trace up to the damage, and say how much was lost
    #[arg(long)]
    pub(crate) keep_going: bool,
}

/// Text for people, or JSON for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableOrJson {
    /// Text for people
    Table,
    /// JSON for programs
    Json,
}

/// Replay a trace under several policies and show what each saves and costs
///
/// Each policy is replayed with the same references on the same TLBs, so that every difference is the policy's. Every
/// number is an exact count.
///
/// TRACE is a recording, a Lackey text, or `-` for either on standard input. A machine is a name of `broadleaf list
/// machines` or a TOML file.
///
/// With --memory, a policy may use memory up. That is a result and no failure: a warning says how much would have done, and the exit status is 0, even
/// if no policy got to the end of the trace.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf compare gzip.bl
  broadleaf compare gzip.bl --policy 4k --policy freebsd --policy pop-64
  broadleaf compare gzip.bl --machine skylake --machine mine.toml --format json -o gzip.json
  broadleaf compare gzip.bl --policy 4k,pop-64 --curve   how many entries the program wants
  broadleaf compare gzip.bl --policy 4k,pop-64,linux --memory 75% --over-time   what becomes of memory that runs short
  broadleaf compare gzip.bl --policy pop-64 --policy 'promote if populated >= 64 and age >= 1e6'
  broadleaf compare ls.lackey
  valgrind --tool=lackey --trace-mem=yes --log-fd=9 ls 9>&1 >/dev/null | broadleaf compare -

What the figures mean: broadleaf list metrics. What a policy does: broadleaf explain NAME.")]
pub(crate) struct Compare {
    /// The trace: a file, or `-` for standard input
    pub(crate) trace: PathBuf,

    /// A policy to replay, or several with commas; may be given several times [default: the nineteen that need no frames of memory: see `by_default` in `broadleaf list policies --format json`]
    ///
    /// An expression may stand in place of a name: 'promote if populated >= 64 and age >= 1e6'. `broadleaf explain promote` says what it may speak of.
    #[arg(long, value_name = "NAME", value_parser = offered::policies(), hide_possible_values = true)]
    pub(crate) policy: Vec<String>,

    /// A TOML file of expressions with names (NAME = "promote if ..."), for --policy; without --policy, all of them are compared
    #[arg(long, value_name = "FILE")]
    pub(crate) policies: Option<PathBuf>,

    /// A machine to replay on, by name or as a TOML file; may be given several times
    #[arg(
        long,
        value_name = "NAME|FILE.toml",
        default_value = "skylake",
        value_parser = offered::machines(),
        hide_possible_values = true
    )]
    pub(crate) machine: Vec<String>,

    #[command(flatten)]
    pub(crate) memory: Memory,

    /// With --memory: plot below the table how memory stood over time, for each policy
    #[arg(long, requires = "memory")]
    pub(crate) over_time: bool,

    /// Count and plot the misses of TLBs of every other size too
    ///
    /// Up to 4096 sets of 1 to 16 ways, and fully associative up to 4096 entries, all with exact LRU and for each page size by itself. The
    /// table shows them as plots and tables, JSON as `curve`.
    #[arg(long)]
    pub(crate) curve: bool,

    /// How to print the results
    #[arg(long, default_value = "table")]
    pub(crate) format: CompareFormat,

    /// Write the results to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Overwrite FILE where it exists
    #[arg(long)]
    pub(crate) force: bool,

    /// Compare a damaged or truncated trace up to the damage, and say how much was lost
    #[arg(long)]
    pub(crate) keep_going: bool,

    /// Replay on N threads, on which no result depends [default: as many as the process may use]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZero<usize>>,
}

/// Write what of a trace matters beside it, so that comparing it is quicker
///
/// Most visits of a program are sure to hit the first level of a processor's TLB, whatever the policy. The reduced form holds the others, and how much time
/// passed between them. It is no estimate: every count is the same. `compare` takes TRACE.reduced in place of TRACE where it was made of it and for the
/// first levels of the machines that are asked for; for one machine with a structure for each page size, as skylake, it is read ten times as fast and more.
/// For several machines, or one structure for both sizes, far more visits have to stay: one form for each machine (with -o) does better. Curves
/// need the trace itself.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf reduce gzip.bl                               writes gzip.bl.reduced
  broadleaf compare gzip.bl                              reads gzip.bl.reduced
  broadleaf reduce gzip.bl --machine skylake-va23 -o gzip.va23.reduced
  broadleaf compare gzip.va23.reduced --machine skylake-va23")]
pub(crate) struct Reduce {
    /// The trace, a file
    pub(crate) trace: PathBuf,

    /// A machine whose counts are wanted later, by name or as a TOML file; may be given several times
    #[arg(
        long,
        value_name = "NAME|FILE.toml",
        default_value = "skylake",
        value_parser = offered::machines(),
        hide_possible_values = true
    )]
    pub(crate) machine: Vec<String>,

    /// Where to write it [default: TRACE with .reduced behind it, where `compare` looks]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Overwrite FILE where it exists
    #[arg(long)]
    pub(crate) force: bool,

    /// Read on N threads [default: as many as the process may use]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZero<usize>>,
}

/// How much memory there is, and how it stands at first.
#[derive(Debug, Args)]
#[command(next_help_heading = "Memory")]
pub(crate) struct Memory {
    /// Model memory down to the frame: SIZE (512M, 2G), PERCENT% of the program's footprint, or `unlimited`
    ///
    /// Each policy then has a memory of its own, with reservations, a page daemon and swap; results say what became of it. The footprint is
    /// what the program holds at its peak where all pages are base pages. Without this option memory never runs short, and comparing is much faster.
    #[arg(long, value_name = "SIZE|PERCENT%|unlimited")]
    pub(crate) memory: Option<Amount>,

    /// Let the program of TRACE run before, in the same memory; may be given several times
    ///
    /// What the earlier programs leave behind is what this one begins with: files that they read, pages in the way, processes that have not ended. Nothing of
    /// them is counted. A percentage of --memory is of the trace itself.
    #[arg(long, value_name = "TRACE", requires = "memory")]
    pub(crate) after: Vec<PathBuf>,

    /// How much of memory is occupied before the program begins, in pieces of 1 to 16 pages
    #[arg(long, value_name = "PART", default_value = "0%", value_parser = part, requires = "memory")]
    pub(crate) occupied: f64,

    /// Begin with the free extents of a recorded /proc/buddyinfo
    #[arg(
        long,
        value_name = "FILE",
        requires = "memory",
        conflicts_with = "occupied"
    )]
    pub(crate) buddyinfo: Option<PathBuf>,

    /// How much of what is occupied can be moved
    #[arg(long, value_name = "PART", default_value = "50%", value_parser = part, requires = "memory")]
    pub(crate) movable: f64,

    /// What the places of what is occupied are drawn from
    #[arg(long, value_name = "N", default_value_t = 1, requires = "memory")]
    pub(crate) seed: u64,

    /// How large the swap is: SIZE, PERCENT% of memory (0% is none), or `unlimited`
    #[arg(long, value_name = "SIZE", value_parser = swap, requires = "memory")]
    pub(crate) swap: Option<Amount>,

    /// Hold the pages that instructions are fetched from too, of traces recorded with --instructions
    #[arg(long, requires = "memory")]
    pub(crate) code: bool,

    /// Where pages of files are before they are used
    #[arg(
        long,
        value_name = "WHERE",
        default_value = "disk",
        requires = "memory"
    )]
    pub(crate) files: FilesAt,

    /// What things cost, in cycles, where it is not what they cost otherwise: disk=30000,fault=900 [default: fault=1500,zero-kib=300,copy-kib=600,disk=300000,promotion=3000,demotion=18000,migration=3000,prefetch=100,capacity=2470]
    ///
    /// A fault beside what follows; zeroing a KiB, and copying one; a page read from the disk or written there; a promotion beside zeroing, copying and
    /// reading; a demotion; moving a page out of the way beside copying it; charging a TLB miss, for policies that ask for that. What is not named keeps its default, which is a round figure of a
    /// processor of 3 GHz with a solid-state disk.
    #[arg(long, value_name = "NAME=CYCLES,...", value_parser = costs, requires = "memory")]
    pub(crate) costs: Option<Costs>,
}

/// Where pages of files are before they are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FilesAt {
    /// On the disk, from which they are read
    Disk,
    /// In memory that is not counted, as after an earlier run
    Memory,
}

/// Shapes of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareFormat {
    /// Text for people, with a recommendation
    Table,
    /// One object, schema broadleaf.compare/1
    Json,
    /// One row for each policy and machine
    Csv,
    /// The columns of CSV, typed, as Apache Parquet
    Parquet,
}

/// List what there is: policies, machines, metrics and so on
///
/// Without a name, everything. `broadleaf explain NAME` says more about each.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf list
  broadleaf list policies
  broadleaf list metrics --format json")]
pub(crate) struct List {
    /// What to list [default: everything]
    pub(crate) what: Option<Catalogue>,

    /// How to print it
    #[arg(long, default_value = "table")]
    pub(crate) format: TableOrJson,
}

/// The catalogues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Catalogue {
    /// When a block becomes a superpage
    Policies,
    /// TLBs and costs of processors
    Machines,
    /// How a TLB can be organised
    Tlbs,
    /// What a walk can go through
    PageTables,
    /// Traces that can be read
    Formats,
    /// The figures of a result
    Metrics,
    /// Why a block was not promoted
    Refusals,
}

/// Explain one policy, machine, metric, column, refusal, TLB, page table or format
///
/// Says what it does, which parameters it takes and where it comes from.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf explain pop-64
  broadleaf explain 'promote if populated >= 64 and kind != file'
  broadleaf explain skylake
  broadleaf explain false_dirty_pages
  broadleaf explain \"of freebsd\"             a column of the comparison's table
  broadleaf explain not_covered            a reason for not promoting, as results count it")]
pub(crate) struct Explain {
    /// Its name
    #[arg(value_parser = offered::everything(), hide_possible_values = true)]
    pub(crate) name: String,
}

/// Do a paper's experiments again, and print its figures beside ours
///
/// Each experiment is a table with the published figures, what they are here, and whether the direction is the same. Papers: navarro2002
/// (reservation-based superpages of several sizes: best case, each size alone, fragmented memory, a server beside a seeker of contiguity, adversaries, demotion),
/// romer1995 (superpages that TLB misses pay for: misses, time, memory and page sizes under each of its policies).
///
/// Counts are exact, speedups are estimates from them. Without --full, programs are reference streams made after the kernels of the paper's
/// programs, in less memory, and all is done in less than two minutes. With it, memory and programs have the paper's sizes, and programs that stand on
/// this machine (gcc, sqlite3, xz, python3; compress and ngspice for romer1995) are recorded and replayed as well, which takes much longer.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf paper navarro2002
  broadleaf paper romer1995
  broadleaf paper navarro2002 --full -o navarro          tables as text and CSV, recordings of programs beside them
  broadleaf paper navarro2002 --cycles-per-access 3      a slower processor, on which TLB misses weigh less")]
pub(crate) struct Paper {
    /// The paper: navarro2002, romer1995
    #[arg(value_name = "PAPER")]
    pub(crate) name: String,

    /// Use the paper's sizes, and record real programs as well
    #[arg(long)]
    pub(crate) full: bool,

    /// As little as a test can wait for
    #[arg(long, hide = true, conflicts_with = "full")]
    pub(crate) tiny: bool,

    /// What an access takes that misses no TLB [default: 1.5; 3 for romer1995]
    #[arg(long, value_name = "CYCLES", value_parser = cycles)]
    pub(crate) cycles_per_access: Option<f64>,

    /// Write the tables to FOLDER as well: each as CSV, all as text; recordings of --full are kept there
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,

    /// Overwrite tables that FOLDER has
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}

/// A number of cycles that an access may take.
fn cycles(text: &str) -> Result<f64, String> {
    let cycles = text.parse::<f64>().ok();
    cycles
        .filter(|cycles| (0.1..=1000.0).contains(cycles))
        .ok_or_else(|| "an access takes 0.1 to 1000 cycles".to_owned())
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_table_is_consistent() {
        Cli::command().debug_assert();
    }
}
