//! The cache of reduced traces and results, which a first comparison of a trace leaves to later
//! ones.
//!
//! A comparison filters the trace. The visits that the filter keeps are the reduced form: few
//! visits from which every count follows. The cache keeps it in the user's cache folder, one file
//! for each trace and family of machines. A comparison with other policies reads it. The results
//! themselves are a file for each trace and request.
//! `docs/decisions/0019-where-comparisons-keep-what-they-learned.md` gives the reasons.

mod cells;
mod entry;
mod folder;
mod foreseen;
mod pass;
mod results;
mod show;
mod tidy;
mod values;

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use broadleaf_machine::Machine;
use broadleaf_model::Outcome;

use crate::failure::Failure;
use crate::output::shown;
use crate::source::Trace;
use crate::source::origin::can_be_opened_again;
use crate::source::reduced::family;

pub(crate) use cells::KnownResults;
pub use entry::{Facts, ReducedFacts, ResultCells, ResultFacts};
pub(crate) use folder::FoundEntry;
pub use folder::{CacheEntry, TraceCache};
pub(crate) use pass::CachedPass;
pub use results::read_whole;
pub(crate) use results::{ResultRequest, TraceContent, build, content_now};
pub(crate) use values::KeptValue;

/// The maximum size of the cache without another wish.
pub const DEFAULT_SIZE: u64 = 2 << 30;
/// The environment variable of the maximum size.
pub const SIZE_VARIABLE: &str = "BROADLEAF_CACHE_SIZE";

/// The maximum size of the cache: `asked`, or the value of [`SIZE_VARIABLE`], or [`DEFAULT_SIZE`].
/// 0 turns the cache off.
///
/// # Errors
/// [`Failure::Wrong`] if the variable holds no size.
pub fn size_limit(asked: Option<u64>) -> Result<u64, Failure> {
    match (asked, std::env::var_os(SIZE_VARIABLE)) {
        (Some(asked), _) => Ok(asked),
        (None, Some(text)) => size_in(&text),
        (None, None) => Ok(DEFAULT_SIZE),
    }
}

fn size_in(text: &OsStr) -> Result<u64, Failure> {
    let text = text.to_string_lossy();
    if text.is_empty() {
        return Ok(DEFAULT_SIZE);
    }
    broadleaf_units::size(&text).ok_or_else(|| {
        Failure::Wrong(format!(
            "{SIZE_VARIABLE}: \"{}\" is no size: write 256M or 2G, or 0 to keep nothing",
            broadleaf_report::printable(&text)
        ))
    })
}

/// The folder of the cache: `broadleaf` in `XDG_CACHE_HOME`, or in `.cache` of the home folder.
/// `None` if neither is known. A relative path in either variable counts as none, as the XDG Base
/// Directory Specification asks.
pub fn folder_of_user() -> Option<PathBuf> {
    let absolute = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let caches = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(caches.join("broadleaf"))
}

/// Keeps the reduced form of a trace that was read to its end. A failure costs speed only, and is
/// named in a warning.
pub(crate) fn keep(
    cache: &TraceCache,
    path: &Path,
    trace: &Trace,
    machines: &[Machine],
    outcome: &Outcome,
    parts: &[Vec<u8>],
) {
    // No later command finds a trace from a pipe by its path.
    let keepable = trace.keepable().filter(|_| can_be_opened_again(path));
    let Some((hash, bytes)) = keepable else {
        return;
    };
    let facts = ReducedFacts {
        path: absolute_path(path),
        hash,
        bytes,
        accesses: outcome.trace.accesses,
        filter: broadleaf_filter::filter_in_words(),
        family: family(machines).to_string(),
        foreseen: foreseen::in_runs(&outcome.foreseen),
    };
    warn(cache, trace.name(), cache.keep(&facts, parts));
}

/// Adds the promotions that a replay found to the entry that the trace was read from, if the entry
/// lacks a policy of them. A failure costs speed only, and is named in a warning.
pub(crate) fn keep_foreseen(cache: &TraceCache, trace: &Trace, outcome: &Outcome) {
    let Some(known) = trace.entry() else {
        return;
    };
    let mut facts = known.clone();
    for (policy, runs) in foreseen::in_runs(&outcome.foreseen) {
        facts.foreseen.entry(policy).or_insert(runs);
    }
    if facts != *known {
        warn(cache, trace.name(), cache.keep_facts(&facts));
    }
}

fn warn(cache: &TraceCache, trace: &str, kept: io::Result<()>) {
    if let Err(error) = kept
        && cache.warns_now()
    {
        log::warn!(
            "{}: cannot keep what was learned of {}: {error}; name another folder with \
             XDG_CACHE_HOME, or turn the cache off with --no-cache or {SIZE_VARIABLE}=0",
            shown(cache.folder()),
            trace
        );
    }
}

/// The absolute path of a trace, without links; the given path if there is no such path.
fn absolute_path(path: &Path) -> String {
    let canonical = path.canonicalize();
    let path = canonical.as_deref().unwrap_or(path);
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
