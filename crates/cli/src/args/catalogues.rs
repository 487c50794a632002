//! The arguments of `list` and `explain`.

use broadleaf_study::catalogues::CatalogueName;
use clap::{Args, ValueEnum};

use super::TableOrJson;
use crate::commands::offered;

/// List policies, machines, metrics and other names
///
/// Without a name, lists everything. `broadleaf explain NAME` explains an entry.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf list
  broadleaf list policies
  broadleaf list tlbs --area               chip area and access time of TLBs
  broadleaf list metrics --format json")]
pub(crate) struct ListArgs {
    /// The catalogue [default: all]
    pub(crate) what: Option<Catalogue>,

    /// List chip areas and access times of TLBs instead: the kinds of entries, and the TLBs of
    /// machines
    ///
    /// Areas are in register-bit equivalents (rbe), after Talluri 1995. Relative figures are
    /// relative to a TLB for pages of 4 KiB with as many entries and ways. Access times are those
    /// of the delay equations of Wilton and Jouppi, in a process of 0.8 micrometres: compare them
    /// among fully associative TLBs, or among set-associative ones. The fitted surrogate describes
    /// the access times of the thesis alone.
    #[arg(long)]
    pub(crate) area: bool,

    /// Set the format of the list
    #[arg(long, default_value = "table")]
    pub(crate) format: TableOrJson,
}

/// The catalogues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Catalogue {
    /// Rules for when a block becomes a huge page (superpage)
    Policies,
    /// TLBs and costs of processors
    Machines,
    /// Organisations of TLBs
    Tlbs,
    /// Replacement rules of TLBs
    Replacements,
    /// Page tables, which walks read
    PageTables,
    /// Synonym tables: the entries of page tables that map each frame
    SynonymTables,
    /// Cache hierarchies
    Caches,
    /// Replacement rules of caches
    CacheReplacements,
    /// Rules that choose frames in limited memory
    Allocators,
    /// Traces that can be read
    Formats,
    /// The figures of a result
    Metrics,
    /// Reasons why a block was not promoted
    Refusals,
}

impl From<Catalogue> for CatalogueName {
    fn from(catalogue: Catalogue) -> Self {
        match catalogue {
            Catalogue::Policies => Self::Policies,
            Catalogue::Machines => Self::Machines,
            Catalogue::Tlbs => Self::Tlbs,
            Catalogue::Replacements => Self::Replacements,
            Catalogue::PageTables => Self::PageTables,
            Catalogue::SynonymTables => Self::SynonymTables,
            Catalogue::Caches => Self::Caches,
            Catalogue::CacheReplacements => Self::CacheReplacements,
            Catalogue::Allocators => Self::Allocators,
            Catalogue::Formats => Self::Formats,
            Catalogue::Metrics => Self::Metrics,
            Catalogue::Refusals => Self::Refusals,
        }
    }
}

/// Explain one policy, machine, metric, column, refusal, part of a machine or format
///
/// Prints its effect, its parameters and its source.
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
    /// The name, as `broadleaf list` prints it, an expression, or a machine's file (FILE.toml)
    #[arg(value_parser = offered::everything(), hide_possible_values = true)]
    pub(crate) name: String,
}
