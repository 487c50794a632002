//! Removing entries: stale ones, those of killed commands, and the least recently used.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use broadleaf_filter::Family;

use super::entry::{self, Facts};
use super::folder::{NEW, RESULTS, TraceCache, name_of};
use super::results;

/// The most results. They are small, and each comparison looks at all of them.
const MOST_RESULTS: usize = 1000;

/// Removes entries that the new entry makes stale, and then the least recently used entries until
/// the cache keeps its limit. Another command may do the same at the same time.
pub(super) fn tidy(cache: &TraceCache, new: &Path, facts: &Facts) {
    sweep(cache.folder());
    let mut entries: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
    for path in cache.files() {
        let Ok(file) = File::open(&path) else {
            continue;
        };
        let is_new = path == new;
        let is_stale = match entry::tail(&file) {
            Ok(tail) => is_stale(&tail.facts, facts),
            Err(_) => true,
        };
        let used = file.metadata().and_then(|metadata| {
            let used = metadata.modified()?;
            Ok((used, metadata.len()))
        });
        match used {
            _ if is_stale && !is_new => remove(&path),
            Ok((used, bytes)) if !is_new => entries.push((used, bytes, path)),
            // The new entry is the last that goes, and it is within the limit.
            Ok((_, bytes)) => entries.push((SystemTime::now(), bytes, path)),
            Err(_) => {}
        }
    }
    entries.sort();
    let is_result = |path: &Path| name_of(path).ends_with(RESULTS);
    let results = entries.iter().filter(|(.., path)| is_result(path)).count();
    let mut surplus = results.saturating_sub(MOST_RESULTS);
    entries.retain(|(_, _, path)| {
        let goes = surplus > 0 && is_result(path);
        if goes {
            surplus -= 1;
            remove(path);
        }
        !goes
    });
    let mut sum: u64 = entries.iter().map(|(_, bytes, _)| bytes).sum();
    for (_, bytes, path) in entries {
        if sum <= cache.limit() {
            break;
        }
        remove(&path);
        sum -= bytes;
    }
}

/// Returns true if an entry is of no use beside a new one: another filter or another build made it,
/// the file that it names has changed, or the new entry serves all its machines.
fn is_stale(old: &Facts, new: &Facts) -> bool {
    if old.path() == new.path() && old.hash() != new.hash() {
        return true;
    }
    match (old, new) {
        (Facts::Results(old), _) => old.build != results::build(),
        (Facts::Reduced(old), Facts::Reduced(new)) => {
            let is_served = old.hash == new.hash
                && Family::parse(&old.family).is_within(&Family::parse(&new.family));
            old.filter != new.filter || is_served
        }
        (Facts::Reduced(_), Facts::Results(_)) => false,
    }
}

/// Removes files that killed commands left: files without a lock.
pub(super) fn sweep(folder: &Path) {
    let Ok(found) = fs::read_dir(folder) else {
        return;
    };
    for path in found.filter_map(|file| Some(file.ok()?.path())) {
        if !name_of(&path).starts_with(NEW) {
            continue;
        }
        // The lock is held until the file is gone, so that no command begins to write the file.
        if let Ok(file) = File::open(&path)
            && file.try_lock().is_ok()
        {
            remove(&path);
        }
    }
}

/// Removes a file. An error costs room only.
fn remove(path: &Path) {
    if let Err(error) = fs::remove_file(path) {
        log::debug!("{}: cannot be removed: {error}", path.display());
    }
}
