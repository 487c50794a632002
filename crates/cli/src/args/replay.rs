//! The arguments of `replay`.

use std::path::PathBuf;

use broadleaf_governor::Allowance;
use clap::Args;

use super::govern::allowance;
use super::{ResultFile, TableOrJson};
use crate::commands::offered;

/// Go through the journal of a run again, and estimate what other policies would have achieved
///
/// Makes each decision of `run --journal` or `attach --journal` again, from what was seen then. The
/// exit status is 1 if a decision differs. A table shows what the recorded policy achieved, and
/// what other policies would have achieved on the same programs at the same moments.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf replay run.journal
  broadleaf replay run.journal --policy pop-64 --policy freebsd
  broadleaf replay run.journal --policy pop-64 --max-added 5% --max-added 2G

Without --policy, those that are ready to use are estimated, and with --max-added alone the recorded one. A journal of a run with --dry-run, or under the policy 4k, is
the best to estimate from: nothing that it made has to be thought away.")]
pub(crate) struct Replay {
    /// The journal
    pub(crate) journal: PathBuf,

    /// A policy to estimate; may be given several times
    #[arg(
        long,
        value_name = "NAME",
        value_parser = offered::policies(),
        hide_possible_values = true
    )]
    pub(crate) policy: Vec<String>,

    /// How much memory superpages may add, where it is not what they might in the recorded run; may be given several times
    #[arg(long, value_name = "SIZE|PERCENT", value_parser = allowance)]
    pub(crate) max_added: Vec<Allowance>,

    /// How to print the answer
    #[arg(long, default_value = "table")]
    pub(crate) format: TableOrJson,

    #[command(flatten)]
    pub(crate) result: ResultFile,
}
