//! The arguments of `cache`, and those of commands that use the cache.

use broadleaf_study::cache::{TraceCache, size_limit};
use broadleaf_study::failure::Failure;
use clap::Args;

use super::TableOrJson;
use super::size::size;

/// Show or clear the cache of reduced traces and results
///
/// The first `compare` or `advise` of a trace keeps the trace's reduced form. Later commands read
/// the form and give the same counts in a fraction of the time. `compare` also keeps its results:
/// the same policies and machines on the same trace are not replayed twice by one build. The folder
/// is `broadleaf` in XDG_CACHE_HOME, or ~/.cache/broadleaf. A reduced form that is larger than its
/// trace is not kept; `broadleaf reduce` writes it.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf cache
  broadleaf cache --clear
  BROADLEAF_CACHE_SIZE=500M broadleaf compare gzip.bl    keep at most 500 MiB
  BROADLEAF_CACHE_SIZE=0 broadleaf compare gzip.bl       keep nothing")]
pub(crate) struct CacheArgs {
    /// Remove all entries
    #[arg(long)]
    pub(crate) clear: bool,

    /// Print the entries in this format
    #[arg(long, default_value = "table", conflicts_with = "clear")]
    pub(crate) format: TableOrJson,
}

/// The use of the cache by a command, and the size of the cache.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct CacheUse {
    /// Keep at most SIZE of reduced traces and results in the cache folder for later commands
    /// [default: BROADLEAF_CACHE_SIZE, or 2G]
    ///
    /// A full cache drops the least recently used files, also those of other recordings.
    /// `broadleaf cache` lists the files and names the folder. 0 turns the cache off.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) cache_size: Option<u64>,

    /// Neither read nor keep reduced traces and results in the cache folder
    #[arg(long, conflicts_with = "cache_size")]
    pub(crate) no_cache: bool,
}

impl CacheUse {
    /// The cache to use; `None` if there is none.
    pub(crate) fn cache(self) -> Result<Option<TraceCache>, Failure> {
        if self.no_cache {
            return Ok(None);
        }
        Ok(TraceCache::of_user(size_limit(self.cache_size)?))
    }
}
