//! The command line. Parsing, help, completions and manual pages come from this one table. Each
//! command has a file.

mod advise;
mod bound;
mod cache;
mod catalogues;
mod compare;
mod demo;
mod export;
mod fetch_traces;
mod govern;
mod import;
mod info;
mod memory;
mod number;
mod page;
mod paper;
mod probe;
mod recode;
mod record;
mod reduce;
mod replay;
mod report;
mod result;
mod service;
mod shell;
mod size;
mod sweep;
mod tables;
mod validate;

use clap::{Parser, Subcommand, ValueEnum};

use crate::terminal::Color;

pub(crate) use advise::{Advise, AdviseFormat};
pub(crate) use bound::Bound;
pub(crate) use cache::{CacheArgs, CacheUse};
pub(crate) use catalogues::{Catalogue, Explain, ListArgs};
pub(crate) use compare::{Compare, CompareFormat};
pub(crate) use demo::Demo;
pub(crate) use export::Export;
pub(crate) use fetch_traces::FetchTraces;
pub(crate) use govern::{Attach, Govern, Run};
pub(crate) use import::Import;
pub(crate) use info::InfoArgs;
pub(crate) use memory::{FilesAt, MemoryArgs};
pub(crate) use page::{PageFile, write_page};
pub(crate) use paper::PaperArgs;
pub(crate) use probe::ProbeArgs;
pub(crate) use recode::Recode;
pub(crate) use record::{EngineChoice, Grain, RecordArgs};
pub(crate) use reduce::Reduce;
pub(crate) use replay::Replay;
pub(crate) use report::{Report, Top};
pub(crate) use result::ResultFile;
pub(crate) use service::ServiceArgs;
pub(crate) use shell::{Completions, Man};
pub(crate) use sweep::{MeansFormat, ResultsArgs, SweepArgs};
pub(crate) use tables::Tables;
pub(crate) use validate::ValidateArgs;

/// Would huge pages make a program faster, which page sizes should it run with, and what would that
/// cost?
///
/// Huge pages are THP (transparent huge pages) on Linux, and superpages in research. Broadleaf
/// records a program's memory references, and replays them through page-size policies and a
/// processor's TLBs. It shows the TLB misses, page walks and page faults that each policy saves,
/// and the memory that the policy wastes.
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
  broadleaf demo                         record, compare and recommend, for an installed program
  broadleaf record -o gzip.bl gzip -9 -k big.txt
  broadleaf compare gzip.bl              every policy in one table, and which to choose
  broadleaf compare gzip.bl --policy 4k --policy pop-64 --format csv
  broadleaf advise gzip.bl               the parts of its memory that are worth huge pages
  broadleaf report --all                 what huge pages would do for running processes
  broadleaf run --baseline 7 gzip -9 -k big.txt      measure it: with huge pages and without
  broadleaf list policies
  broadleaf explain huge-page

Results go to standard output, everything else to standard error.

Exit status:
  0  done
  1  the work failed
  2  the arguments or a file were wrong"
)]
pub(crate) struct Cli {
    /// Use colours: auto (on a terminal, unless NO_COLOR is set), always or never
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
    Record(RecordArgs),
    Import(Import),
    Export(Export),
    FetchTraces(FetchTraces),
    Info(InfoArgs),
    Compare(Box<Compare>),
    Advise(Advise),
    Run(Run),
    Attach(Attach),
    Replay(Replay),
    Service(ServiceArgs),
    Reduce(Reduce),
    Recode(Recode),
    Cache(CacheArgs),
    Report(Report),
    Top(Top),
    Tables(Tables),
    Probe(ProbeArgs),
    Validate(ValidateArgs),
    Sweep(SweepArgs),
    Results(ResultsArgs),
    List(ListArgs),
    Explain(Explain),
    Paper(PaperArgs),
    Demo(Demo),
    Completions(Completions),
    Man(Man),
}

/// Text for people, or JSON for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableOrJson {
    /// Text for people
    Table,
    /// JSON for programs
    Json,
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
