//! The arguments of `replay`.

use std::path::PathBuf;

use broadleaf_governor::Allowance;
use clap::Args;

use super::govern::allowance;
use super::{PageFile, ResultFile, TableOrJson};
use crate::commands::offered;

/// Check the decisions of a journal, and estimate what other policies would have achieved
///
/// Repeats each decision of `run --journal` or `attach --journal` with the observations that the
/// journal holds. The exit status is 1 if a decision differs. A table shows what the recorded
/// policy achieved, and what other policies would have achieved on the same programs at the same
/// moments.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf replay run.journal
  broadleaf replay run.journal --policy pop-64 --policy freebsd
  broadleaf replay run.journal --policy pop-64 --max-added 5% --max-added 2G

Without --policy, the policies that are ready to use are estimated, and with --max-added alone the
recorded one. A journal of a run with --dry-run, or under the policy 4k, gives the best estimates,
because no huge page of that run changes what was observed.")]
pub(crate) struct Replay {
    /// The journal
    pub(crate) journal: PathBuf,

    /// Estimate a policy; may be given several times
    #[arg(
        long,
        value_name = "NAME",
        value_parser = offered::policies(),
        hide_possible_values = true
    )]
    pub(crate) policy: Vec<String>,

    /// Limit the memory that huge pages add [default: the limit of the recorded run]; may be given
    /// several times
    #[arg(long, value_name = "SIZE|PERCENT", value_parser = allowance)]
    pub(crate) max_added: Vec<Allowance>,

    /// Set the format of the answer
    #[arg(long, default_value = "table")]
    pub(crate) format: TableOrJson,

    #[command(flatten)]
    pub(crate) result: ResultFile,

    #[command(flatten)]
    pub(crate) page: PageFile,
}
