//! Results as entries of the cache: the same comparison of the same trace is not replayed twice.
//!
//! The key is the hash of the trace's bytes, the code that made the results, and everything that
//! they depend on beside the trace. The number of threads is no part of the key.

use std::fs::File;
use std::io;
use std::path::Path;

use broadleaf_metrics::{CacheResult, CellResult, TraceSummary};
use broadleaf_model::{Outcome, Plan};
use broadleaf_trace::reduced::{ReducedPartReader, ReducedReader};
use serde::{Deserialize, Serialize};

use super::entry::{self, EntryTail, Facts, ResultFacts};
use super::folder::{DIGITS, RESULTS, TraceCache, hash_of, name_of, name_prefix, size_in_name};
use super::folder::{remove_damaged, use_now};
use super::{absolute_path, warn};
use crate::source::origin::can_be_opened_again;
use crate::source::{Trace, TraceReading};

/// A request whose results may be in the cache.
pub(crate) struct ResultRequest<'a> {
    cache: &'a TraceCache,
    /// The hash of the reading and of the plan.
    request: String,
    /// The policies and the machines, for people.
    of: String,
}

/// Results as an entry holds them.
#[derive(PartialEq, Serialize, Deserialize)]
struct Stored {
    trace: TraceSummary,
    results: Vec<CellResult>,
    /// The counts of the caches of each result, which the text of a result has as metrics.
    caches: Vec<Option<CacheResult>>,
    notes: Vec<String>,
}

/// Results that were found, with the content of the trace.
pub(crate) struct FoundResults {
    /// The summary of the trace, its results and its notes.
    pub(crate) outcome: Outcome,
    pub(crate) content: TraceContent,
}

/// The bytes of a whole trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TraceContent {
    /// Their hash.
    pub(crate) hash: String,
    /// Their number.
    pub(crate) bytes: u64,
}

/// The code of this build, as a hash.
pub(crate) const fn build() -> &'static str {
    env!("BROADLEAF_SOURCES")
}

impl<'a> ResultRequest<'a> {
    /// The request to replay a trace, read as `reading` says, by `plan`. `None` if the plan asks
    /// for more than an entry holds.
    pub(crate) fn new(cache: &'a TraceCache, reading: &TraceReading, plan: &Plan) -> Option<Self> {
        let text = format!("{}\n{}", reading.identity(), plan.identity()?);
        let policies = plan.policies().iter().map(|policy| policy.name());
        let machines = plan.machines().iter().map(|machine| machine.name.clone());
        let of = format!("{} on {}", few(policies), few(machines));
        Some(Self::described(cache, &text, of))
    }

    /// A request that `text` describes in full. `of` describes it for people.
    pub(super) fn described(cache: &'a TraceCache, text: &str, of: String) -> Self {
        let request = format!("blake3:{}", blake3::hash(text.as_bytes()).to_hex());
        Self { cache, request, of }
    }

    /// The results of the request for an open trace, if there are any. A damaged entry is removed.
    pub(crate) fn find(&self, trace: &Trace) -> Option<FoundResults> {
        let known = trace.entry();
        let bytes = known.map_or_else(|| trace.file_size(), |facts| Some(facts.bytes))?;
        let (of_size, ending) = (size_in_name(bytes), self.ending());
        let mut candidates = self.cache.files();
        candidates.retain(|path| {
            let name = name_of(path);
            name.starts_with(&of_size) && name.ends_with(&ending)
        });
        if candidates.is_empty() {
            return None;
        }
        let hash = match known {
            Some(facts) => facts.hash.clone(),
            None => hash_of(trace.file()?)?,
        };
        let content = TraceContent { hash, bytes };
        let Stored {
            trace,
            results,
            notes,
            ..
        } = self.body(&content, trace.name(), read)?;
        let outcome = Outcome {
            trace,
            results,
            notes,
            ..Outcome::default()
        };
        Some(FoundResults { outcome, content })
    }

    /// The body of the entry for a trace of this content, as `read` reads it. A damaged entry is
    /// removed.
    pub(super) fn body<T>(
        &self,
        content: &TraceContent,
        trace: &str,
        read: impl Fn(&[u8]) -> io::Result<T>,
    ) -> Option<T> {
        let serves = |facts: &ResultFacts| {
            facts.hash == content.hash
                && facts.bytes == content.bytes
                && facts.build == build()
                && facts.request == self.request
        };
        let path = self.cache.folder().join(self.name(content));
        let file = File::open(&path).ok()?;
        match open(&file, serves).and_then(|body| body.map(|body| read(&body)).transpose()) {
            Ok(found) => {
                use_now(&file);
                found
            }
            Err(error) => {
                remove_damaged(&path, &error, trace);
                None
            }
        }
    }

    /// Keeps the results of a trace that was read to its end. A failure costs speed only, and is
    /// named in a warning.
    pub(crate) fn keep(&self, path: &Path, trace: &Trace, outcome: &Outcome) {
        // No later command finds a trace from a pipe by its path.
        let content = trace.content().filter(|_| can_be_opened_again(path));
        let Some(content) = content else {
            return;
        };
        let caches = outcome.results.iter().map(|result| result.caches.clone());
        let stored = Stored {
            trace: outcome.trace.clone(),
            caches: caches.collect(),
            results: outcome.results.clone(),
            notes: outcome.notes.clone(),
        };
        let body = || {
            let body = serde_json::to_vec(&stored)?;
            // JSON has no infinity: reading the entry has to give the same results.
            Ok((read(&body)? == stored).then_some(body))
        };
        let kept = body().and_then(|body| match body {
            Some(body) => self.write(path, &content, outcome.trace.accesses, &body),
            None => Ok(()),
        });
        warn(self.cache, trace.name(), kept);
    }

    /// Writes an entry with this body for a trace of that content, unless the cache has no room.
    pub(super) fn write(
        &self,
        path: &Path,
        content: &TraceContent,
        accesses: u64,
        body: &[u8],
    ) -> io::Result<()> {
        if body.len() as u64 > self.cache.limit() {
            return Ok(());
        }
        let facts = ResultFacts {
            path: absolute_path(path),
            hash: content.hash.clone(),
            bytes: content.bytes,
            accesses,
            build: build().to_owned(),
            request: self.request.clone(),
            of: self.of.clone(),
        };
        let kind = Facts::Results(facts.clone());
        self.cache.add(&self.name(content), &kind, |file| {
            entry::write_results(file, &facts, body)
        })
    }

    /// The cache.
    pub(super) const fn cache(&self) -> &TraceCache {
        self.cache
    }

    /// The name of the entry: the size of the trace, its hash, and the hash of the request.
    fn name(&self, content: &TraceContent) -> String {
        let prefix = name_prefix(content.bytes, &content.hash);
        format!("{prefix}{}", self.ending())
    }

    fn ending(&self) -> String {
        let key = format!("{}\n{}", build(), self.request);
        let key = blake3::hash(key.as_bytes()).to_hex();
        format!("{}{RESULTS}", &key[..DIGITS / 2])
    }
}

/// The first three names, and the number of the others.
fn few(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    let first = names[..names.len().min(3)].join(", ");
    match names.len().saturating_sub(3) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// Reads the body of an entry.
fn read(body: &[u8]) -> io::Result<Stored> {
    let mut stored: Stored = serde_json::from_slice(body)?;
    for (result, caches) in stored.results.iter_mut().zip(&stored.caches) {
        result.caches.clone_from(caches);
    }
    Ok(stored)
}

/// Reads a whole entry, its body included, and checks it.
///
/// # Errors
/// If the file cannot be read, or differs from what was written.
pub fn read_whole(file: &File) -> io::Result<Facts> {
    let tail = entry::tail(file)?;
    let body = entry::body(file, &tail)?;
    match &tail.facts {
        Facts::Results(_) => {
            serde_json::from_slice::<serde::de::IgnoredAny>(&body)?;
        }
        Facts::Reduced(_) => {
            let mut reader = ReducedReader::new(body.as_slice()).map_err(io::Error::other)?;
            let mut pieces = ReducedPartReader::new();
            while let Some(part) = reader.next_part().map_err(io::Error::other)? {
                pieces.begin(part);
                while pieces.next_item().map_err(io::Error::other)?.is_some() {}
            }
        }
    }
    Ok(tail.facts)
}

/// Opens and checks an entry whose facts `serves` accepts, and returns its body.
fn open(file: &File, serves: impl Fn(&ResultFacts) -> bool) -> io::Result<Option<Vec<u8>>> {
    let tail = entry::tail(file)?;
    match &tail {
        EntryTail {
            facts: Facts::Results(facts),
            ..
        } if serves(facts) => entry::body(file, &tail).map(Some),
        _ => Ok(None),
    }
}
