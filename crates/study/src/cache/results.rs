//! Results as entries of the cache: the same comparison of the same trace is not replayed twice.
//!
//! The key is the hash of the trace's bytes, the code that made the results, and everything that
//! they depend on beside the trace. The number of threads is no part of the key. An entry of
//! another request may hold [some of the results](super::cells).

use std::fs::File;
use std::io;
use std::path::Path;

use broadleaf_metrics::{CacheResult, CellResult, TraceSummary};
use broadleaf_model::{NoteAbout, Outcome, Plan, ReplayNote};
use broadleaf_trace::reduced::{ReducedPartReader, ReducedReader};
use serde::{Deserialize, Serialize};

use super::cells::KnownResults;
use super::entry::{self, EntryTail, Facts, ResultCells, ResultFacts};
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
    /// The number of results; 0 of a value.
    results: usize,
    /// The results by policy and machine, where each depends on its own alone.
    cells: Option<ResultCells>,
}

/// Results as an entry holds them.
#[derive(PartialEq, Serialize, Deserialize)]
pub(super) struct Stored {
    pub(super) trace: TraceSummary,
    pub(super) results: Vec<CellResult>,
    /// The counts of the caches of each result, which the text of a result has as metrics.
    caches: Vec<Option<CacheResult>>,
    notes: Vec<StoredNote>,
}

/// A note as an entry holds it.
#[derive(PartialEq, Serialize, Deserialize)]
struct StoredNote {
    text: String,
    /// The places of the results that the note is about. `None` if it is about the trace or the
    /// plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    results: Option<Vec<usize>>,
    /// The note is about the plan.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    of_plan: bool,
}

impl From<&ReplayNote> for StoredNote {
    fn from(note: &ReplayNote) -> Self {
        Self {
            text: note.text.clone(),
            results: match &note.about {
                NoteAbout::Results(places) => Some(places.clone()),
                NoteAbout::Trace | NoteAbout::Plan => None,
            },
            of_plan: note.about == NoteAbout::Plan,
        }
    }
}

impl From<StoredNote> for ReplayNote {
    fn from(note: StoredNote) -> Self {
        Self {
            about: match note.results {
                Some(places) => NoteAbout::Results(places),
                None if note.of_plan => NoteAbout::Plan,
                None => NoteAbout::Trace,
            },
            text: note.text,
        }
    }
}

impl Stored {
    /// The notes.
    pub(super) fn take_notes(&mut self) -> Vec<ReplayNote> {
        let notes = std::mem::take(&mut self.notes);
        notes.into_iter().map(ReplayNote::from).collect()
    }
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
        let (reading, identity) = (reading.identity(), plan.identity()?);
        let text = format!("{reading}\n{identity}");
        let policies = identity.policies.iter().cloned();
        let machines = plan.machines().iter().map(|machine| machine.name.clone());
        let of = format!("{} on {}", few(policies), few(machines));
        let cells = identity.is_by_cell.then(|| ResultCells {
            conditions: hashed(&format!("{reading}\n{}", identity.conditions)),
            curves: identity.curves,
            machines: identity
                .machines
                .iter()
                .map(|machine| hashed(machine))
                .collect(),
            policies: identity.policies,
        });
        Some(Self {
            results: plan.policies().len() * plan.machines().len(),
            cells,
            ..Self::described(cache, &text, of)
        })
    }

    /// A request that `text` describes in full. `of` describes it for people.
    pub(super) fn described(cache: &'a TraceCache, text: &str, of: String) -> Self {
        Self {
            cache,
            request: format!("blake3:{}", blake3::hash(text.as_bytes()).to_hex()),
            of,
            results: 0,
            cells: None,
        }
    }

    /// The results of the request for an open trace that the cache has: all of them, or those that
    /// other requests had. A damaged entry is removed.
    pub(crate) fn find(&self, trace: &Trace) -> Option<KnownResults> {
        let content = self.content(trace)?;
        let read = |body: &[u8]| read(body, self.results);
        if let Some(stored) = self.body(&content, trace.name(), read) {
            return Some(KnownResults::whole(content, stored));
        }
        let mut known = KnownResults::none(content, self.cells.as_ref()?);
        known.add_from(self.cache, trace.name());
        known.is_any().then_some(known)
    }

    /// The content of an open trace, if an entry may hold results of it.
    fn content(&self, trace: &Trace) -> Option<TraceContent> {
        let known = trace.entry();
        let bytes = known.map_or_else(|| trace.file_size(), |facts| Some(facts.bytes))?;
        let (of_size, ending) = (size_in_name(bytes), self.ending());
        let is_candidate = |path: &Path| {
            let name = name_of(path);
            let of_size = name.starts_with(&of_size);
            of_size && (name.ends_with(&ending) || self.may_have_results(path))
        };
        // Hashing a long trace takes seconds.
        if !self.cache.files().iter().any(|path| is_candidate(path)) {
            return None;
        }
        match known {
            Some(facts) => Some(TraceContent {
                hash: facts.hash.clone(),
                bytes,
            }),
            None => content_now(trace),
        }
    }

    /// Returns true if an entry holds results of other requests that this one may have.
    fn may_have_results(&self, path: &Path) -> bool {
        let file = File::open(path).ok().filter(|_| self.cells.is_some());
        let tail = file.and_then(|file| entry::tail(&file).ok());
        tail.is_some_and(|tail| match (&self.cells, &tail.facts) {
            (Some(wanted), Facts::Results(facts)) => {
                let cells = facts.cells.as_ref();
                wanted.may_take_from(facts) && cells.is_some_and(|cells| wanted.meets(cells))
            }
            _ => false,
        })
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
    pub(crate) fn keep(
        &self,
        path: &Path,
        trace: &Trace,
        content: Option<&TraceContent>,
        outcome: &Outcome,
    ) {
        // No later command finds a trace from a pipe by its path.
        let content = content.filter(|_| can_be_opened_again(path));
        let Some(content) = content else {
            return;
        };
        let caches = outcome.results.iter().map(|result| result.caches.clone());
        let stored = Stored {
            trace: outcome.trace.clone(),
            caches: caches.collect(),
            results: outcome.results.clone(),
            notes: outcome.notes.iter().map(StoredNote::from).collect(),
        };
        let is_by_cell = outcome
            .notes
            .iter()
            .all(|note| note.about != NoteAbout::Plan);
        let cells = self.cells.as_ref().filter(|_| is_by_cell);
        let body = || {
            let body = serde_json::to_vec(&stored)?;
            // JSON has no infinity: reading the entry has to give the same results.
            Ok((read(&body, self.results)? == stored).then_some(body))
        };
        let kept = body().and_then(|body| match body {
            Some(body) => self.write(path, content, outcome.trace.accesses, cells, &body),
            None => Ok(()),
        });
        warn(self.cache, trace.name(), kept);
    }

    /// Writes an entry with this body for a trace of that content, unless the cache has no room.
    /// Other requests may have results of `cells`.
    pub(super) fn write(
        &self,
        path: &Path,
        content: &TraceContent,
        accesses: u64,
        cells: Option<&ResultCells>,
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
            cells: cells.cloned(),
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

/// The first digits of a hash of this text.
fn hashed(text: &str) -> String {
    let hash = blake3::hash(text.as_bytes()).to_hex();
    hash[..DIGITS].to_owned()
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

/// The bytes of a trace as they are now. `None` if they cannot be read again.
pub(crate) fn content_now(trace: &Trace) -> Option<TraceContent> {
    let bytes = trace.file_size()?;
    let hash = hash_of(trace.file()?)?;
    Some(TraceContent { hash, bytes })
}

/// Reads the body of an entry with this number of results.
///
/// # Errors
/// If the body is not such an entry.
pub(super) fn read(body: &[u8], results: usize) -> io::Result<Stored> {
    let mut stored: Stored = serde_json::from_slice(body)?;
    if [stored.results.len(), stored.caches.len()] != [results; 2] {
        let number = stored.results.len();
        let wrong = format!("it has {number} results, and not {results}");
        return Err(io::Error::new(io::ErrorKind::InvalidData, wrong));
    }
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
pub(super) fn open(
    file: &File,
    serves: impl Fn(&ResultFacts) -> bool,
) -> io::Result<Option<Vec<u8>>> {
    let tail = entry::tail(file)?;
    match &tail {
        EntryTail {
            facts: Facts::Results(facts),
            ..
        } if serves(facts) => entry::body(file, &tail).map(Some),
        _ => Ok(None),
    }
}
