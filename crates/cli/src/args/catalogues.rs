//! The arguments of `list` and `explain`.

use clap::{Args, ValueEnum};

use super::TableOrJson;
use crate::commands::offered;

/// List policies, machines, metrics and other names
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
    /// Which translation of a TLB makes room
    Replacements,
    /// What a walk can go through
    PageTables,
    /// What lies between a processor and memory
    Caches,
    /// Traces that can be read
    Formats,
    /// The figures of a result
    Metrics,
    /// Why a block was not promoted
    Refusals,
}

/// Explain one policy, machine, metric, column, refusal, part of a machine or format
///
/// Says what it does, which parameters it takes and where it comes from.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf explain pop-64
  broadleaf explain 'promote if populated >= 64 and kind != file'
  broadleaf explain skylake
  broadleaf explain false_dirty_pages
  broadleaf explain \"vs freebsd\"             a column of the comparison's table
  broadleaf explain not_covered            a reason for not promoting, as results count it")]
pub(crate) struct Explain {
    /// Its name
    #[arg(value_parser = offered::everything(), hide_possible_values = true)]
    pub(crate) name: String,
}
