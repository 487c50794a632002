//! `cache`: what comparisons have kept to be faster.

use std::time::UNIX_EPOCH;

use broadleaf_report::number::{grouped, size};
use broadleaf_report::{Align, Grid, View, printable};
use broadleaf_study::cache::{CacheEntry, TraceCache, folder_of_user, size_limit};
use broadleaf_study::failure::Failure;
use broadleaf_study::output::{json, print, shown};
use serde_json::json;

use crate::args::{Cache, TableOrJson};
use broadleaf_study::info::date;

pub(crate) fn run(options: &Cache, view: View) -> Result<(), Failure> {
    let folder = folder_of_user();
    let folder = folder.ok_or_else(|| {
        Failure::wrong("no cache folder is known: set HOME or XDG_CACHE_HOME to an absolute path")
    })?;
    let cache = TraceCache::new(folder, size_limit(None)?);
    let name = shown(cache.folder());
    if options.clear {
        let removed = cache
            .clear()
            .map_err(|error| Failure::writing(&name, &error))?;
        say!("{name}: removed {removed} reduced traces");
        return Ok(());
    }
    let entries = cache.entries();
    let bytes = entries.iter().map(|entry| entry.bytes).sum();
    if options.format == TableOrJson::Json {
        return print(&as_json(&cache, &entries, bytes)?);
    }
    let mut text = format!(
        "{name}: {} of {}, in {} reduced traces\n",
        size(bytes),
        size(cache.limit()),
        entries.len()
    );
    if !entries.is_empty() {
        let mut grid = Grid::new()
            .column("size", Align::Right)
            .column("accesses", Align::Right)
            .column("last used", Align::Left)
            .column("trace", Align::Left);
        for entry in &entries {
            grid.row([
                size(entry.bytes),
                grouped(entry.facts.accesses),
                date(seconds(entry)),
                printable(&entry.facts.path),
            ]);
        }
        text.push('\n');
        text.push_str(&grid.render(view));
    }
    print(&text)
}

fn as_json(cache: &TraceCache, entries: &[CacheEntry], bytes: u64) -> Result<String, Failure> {
    let entries: Vec<_> = entries
        .iter()
        .map(|entry| {
            json!({
                "trace": entry.facts.path,
                "hash": entry.facts.hash,
                "accesses": entry.facts.accesses,
                "filter": entry.facts.filter,
                "family": entry.facts.family,
                "bytes": entry.bytes,
                "used": seconds(entry),
            })
        })
        .collect();
    json(&json!({
        "folder": cache.folder().to_string_lossy(),
        "limit": cache.limit(),
        "bytes": bytes,
        "entries": entries,
    }))
}

/// When an entry was used last, in seconds since 1970.
fn seconds(entry: &CacheEntry) -> u64 {
    let since = entry.used.duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
