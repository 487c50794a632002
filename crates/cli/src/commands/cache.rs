//! `cache`: shows and clears the cache.

use broadleaf_report::View;
use broadleaf_report::number::counted;
use broadleaf_study::cache::{TraceCache, folder_of_user, size_limit};
use broadleaf_study::failure::Failure;
use broadleaf_study::output::{print, shown};

use crate::args::{CacheArgs, TableOrJson};

pub(crate) fn run(options: &CacheArgs, view: View) -> Result<(), Failure> {
    let folder = folder_of_user().ok_or_else(|| {
        Failure::wrong("no cache folder is known: set HOME or XDG_CACHE_HOME to an absolute path")
    })?;
    let cache = TraceCache::new(folder, size_limit(None)?);
    if options.clear {
        let name = shown(cache.folder());
        let removed = cache.clear();
        let removed = removed.map_err(|error| Failure::writing(&name, &error))?;
        say!("{name}: removed {}", counted(removed as u64, "file"));
        return Ok(());
    }
    print(&match options.format {
        TableOrJson::Table => cache.table(view),
        TableOrJson::Json => cache.json()?,
    })
}
