//! The entries of the cache as a table, and as JSON.

use std::time::UNIX_EPOCH;

use broadleaf_report::number::{counted, grouped, size};
use broadleaf_report::{Align, Grid, View, next, printable};
use serde_json::{Value, json};

use super::{CacheEntry, Facts, TraceCache};
use crate::failure::Failure;
use crate::info::date;
use crate::output::{self, shown};

impl TraceCache {
    /// The folder, its size and its entries, for people.
    pub fn table(&self, view: View) -> String {
        let entries = self.entries();
        let mut text = format!(
            "{}: {} of {}, in {}\n",
            shown(self.folder()),
            size(sum(&entries)),
            size(self.limit()),
            counted(entries.len() as u64, "file")
        );
        if !entries.is_empty() {
            let mut grid = Grid::new()
                .column("size", Align::Right)
                .column("accesses", Align::Right)
                .column("kind", Align::Left)
                .column("of", Align::Left)
                .column("last used", Align::Left)
                .column("trace", Align::Left);
            for entry in &entries {
                grid.row([
                    size(entry.bytes),
                    grouped(entry.facts.accesses()),
                    entry.facts.kind().to_owned(),
                    printable(entry.facts.of()),
                    date(seconds(entry)),
                    printable(entry.facts.path()),
                ]);
            }
            text.push('\n');
            text.push_str(&grid.render(view));
        }
        text + &next("broadleaf compare TRACE")
    }

    /// The list of entries as JSON.
    ///
    /// # Errors
    /// [`Failure::Failed`] if a value has no form in JSON.
    pub fn json(&self) -> Result<String, Failure> {
        let entries = self.entries();
        output::json(&json!({
            "folder": self.folder().to_string_lossy(),
            "limit": self.limit(),
            "bytes": sum(&entries),
            "entries": entries.iter().map(of_entry).collect::<Vec<Value>>(),
        }))
    }
}

fn of_entry(entry: &CacheEntry) -> Value {
    let mut value = json!({
        "trace": entry.facts.path(),
        "hash": entry.facts.hash(),
        "accesses": entry.facts.accesses(),
        "kind": entry.facts.kind(),
        "of": entry.facts.of(),
        "bytes": entry.bytes,
        "used": seconds(entry),
    });
    if let Facts::Reduced(facts) = &entry.facts {
        value["filter"] = json!(facts.filter);
        value["family"] = json!(facts.family);
    }
    value
}

fn sum(entries: &[CacheEntry]) -> u64 {
    entries.iter().map(|entry| entry.bytes).sum()
}

/// When an entry was used last, in seconds since 1970.
fn seconds(entry: &CacheEntry) -> u64 {
    let since = entry.used.duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
