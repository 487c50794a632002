//! The file of an entry: a reduced trace or results, followed by the facts that say what the entry
//! is good for.
//!
//! ```text
//! body | facts (JSON) | their length (4 bytes) | XXH3 of all before (8) | magic of the kind (8)
//! ```

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

use broadleaf_trace::WriteError;
use broadleaf_trace::reduced::{ReducedHeader, ReducedWriter};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3Default;

/// The magic of a reduced trace.
const REDUCED: [u8; 8] = *b"BLCACHE1";
/// The magic of results.
const RESULTS: [u8; 8] = *b"BLRESLT1";
/// Length, check and magic.
const TAIL_BYTES: u64 = 4 + 8 + 8;
/// The maximum length of the facts: a path has at most 4,096 bytes.
const MOST_FACTS: u64 = 1 << 16;
/// Bytes that are read at a time to check an entry.
const READ_BYTES: usize = 1 << 18;

/// The trace, the filter and the machines of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReducedFacts {
    /// The path of the trace when the entry was made.
    pub path: String,
    /// The hash of the trace's bytes, as results name it.
    pub hash: String,
    /// The number of these bytes.
    pub bytes: u64,
    /// The accesses of the trace.
    pub accesses: u64,
    /// The filter that made the entry, in words ([`broadleaf_filter::filter_in_words`]).
    pub filter: String,
    /// The family of machines, as text ([`broadleaf_filter::Family`]).
    pub family: String,
    /// The blocks that policies promoted which others foresee: by policy, runs of blocks as the
    /// space, the first block and their number.
    #[serde(default)]
    pub foreseen: BTreeMap<String, Vec<(u32, u64, u64)>>,
}

/// The trace, the build and the request of kept results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultFacts {
    /// The path of the trace when the entry was made.
    pub path: String,
    /// The hash of the trace's bytes, as results name it.
    pub hash: String,
    /// The number of these bytes.
    pub bytes: u64,
    /// The accesses of the trace.
    pub accesses: u64,
    /// The code that made the results, as a hash.
    pub build: String,
    /// The hash of the reading and of the plan ([`broadleaf_model::Plan::identity`]).
    pub request: String,
    /// The policies and the machines, for people.
    pub of: String,
    /// The results by policy and machine, where other requests may have some of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells: Option<ResultCells>,
}

/// The policies and machines of results, each of which depends on its own policy and machine alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultCells {
    /// The hash of everything else that a result depends on beside the trace.
    pub conditions: String,
    /// The results have curves.
    pub curves: bool,
    /// The policies, by name.
    pub policies: Vec<String>,
    /// The hash of each machine. Machines vary faster than policies.
    pub machines: Vec<String>,
}

/// The facts of an entry, by its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Facts {
    /// Those of a reduced trace.
    Reduced(ReducedFacts),
    /// Those of results.
    Results(ResultFacts),
}

impl Facts {
    /// The path of the trace when the entry was made.
    pub fn path(&self) -> &str {
        match self {
            Self::Reduced(facts) => &facts.path,
            Self::Results(facts) => &facts.path,
        }
    }

    /// The hash of the trace's bytes.
    pub fn hash(&self) -> &str {
        match self {
            Self::Reduced(facts) => &facts.hash,
            Self::Results(facts) => &facts.hash,
        }
    }

    /// The accesses of the trace.
    pub const fn accesses(&self) -> u64 {
        match self {
            Self::Reduced(facts) => facts.accesses,
            Self::Results(facts) => facts.accesses,
        }
    }

    /// The kind of the entry, as people read it.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Reduced(_) => "reduced trace",
            Self::Results(_) => "results",
        }
    }

    /// The policies and machines of results; empty for a reduced trace, which serves any policies.
    pub fn of(&self) -> &str {
        match self {
            Self::Reduced(_) => "",
            Self::Results(facts) => &facts.of,
        }
    }
}

/// A writer that hashes all bytes.
struct HashedWriter<W> {
    to: W,
    hasher: Xxh3Default,
}

impl<W: Write> Write for HashedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.to.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Writes an entry of these parts of a reduced trace. Returns its size.
pub(super) fn write(to: &mut File, facts: &ReducedFacts, parts: &[Vec<u8>]) -> io::Result<u64> {
    let cannot = |error| match error {
        WriteError::Io(error) => error,
        error => io::Error::other(error),
    };
    let header = ReducedHeader {
        trace: facts.hash.clone(),
        family: facts.family.clone(),
    };
    let checked = HashedWriter {
        to: BufWriter::new(&mut *to),
        hasher: Xxh3Default::new(),
    };
    let mut writer = ReducedWriter::new(checked, &header).map_err(cannot)?;
    for part in parts {
        writer.append(part.as_slice()).map_err(cannot)?;
    }
    let (checked, _) = writer.finish().map_err(cannot)?;
    finish_reduced(checked, facts)?;
    to.stream_position()
}

/// Writes an entry of results, which `body` holds as text. Returns its size.
pub(super) fn write_results(to: &mut File, facts: &ResultFacts, body: &[u8]) -> io::Result<u64> {
    let mut checked = HashedWriter {
        to: BufWriter::new(&mut *to),
        hasher: Xxh3Default::new(),
    };
    checked.write_all(body)?;
    let mut json = serde_json::to_vec(facts)?;
    if json.len() as u64 > MOST_FACTS {
        // Without the names of policies and machines, the results serve the same request alone.
        let facts = facts.clone();
        json = serde_json::to_vec(&ResultFacts {
            cells: None,
            ..facts
        })?;
    }
    finish(checked, &json, RESULTS)?;
    to.stream_position()
}

/// Writes a copy of an entry with other facts. Returns its size.
///
/// # Errors
/// If a file cannot be read or written, or the entry is damaged.
pub(super) fn write_again(to: &mut File, mut from: &File, facts: &ReducedFacts) -> io::Result<u64> {
    let tail = tail(from)?;
    check(from, &tail)?;
    from.rewind()?;
    let mut checked = HashedWriter {
        to: BufWriter::new(&mut *to),
        hasher: Xxh3Default::new(),
    };
    io::copy(&mut from.take(tail.body), &mut checked)?;
    finish_reduced(checked, facts)?;
    to.stream_position()
}

/// Writes what follows the reduced trace of an entry.
fn finish_reduced<W: Write>(checked: HashedWriter<W>, facts: &ReducedFacts) -> io::Result<()> {
    let mut json = serde_json::to_vec(facts)?;
    if json.len() as u64 > MOST_FACTS {
        // Without the promotions, a later comparison makes a second pass.
        let foreseen = BTreeMap::new();
        let facts = facts.clone();
        json = serde_json::to_vec(&ReducedFacts { foreseen, ..facts })?;
    }
    finish(checked, &json, REDUCED)
}

/// Writes what follows the body of an entry.
fn finish<W: Write>(mut checked: HashedWriter<W>, json: &[u8], magic: [u8; 8]) -> io::Result<()> {
    checked.write_all(json)?;
    checked.write_all(&(json.len() as u32).to_le_bytes())?;
    let check = checked.hasher.digest();
    checked.write_all(&check.to_le_bytes())?;
    checked.write_all(&magic)?;
    checked.flush()
}

/// An entry whose tail was read.
#[derive(Debug)]
pub(super) struct EntryTail {
    pub(super) facts: Facts,
    /// The bytes of the reduced trace, or of the results.
    pub(super) body: u64,
    /// The bytes that the check covers.
    covered: u64,
    check: u64,
}

fn damaged(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

/// Reads the tail of an entry.
///
/// # Errors
/// If the file cannot be read, or is no entry.
pub(super) fn tail(mut file: &File) -> io::Result<EntryTail> {
    let size = file.metadata()?.len();
    let covered = size.checked_sub(TAIL_BYTES - 4);
    let covered = covered.ok_or_else(|| damaged("it is too short"))?;
    let mut tail = [0; TAIL_BYTES as usize];
    file.seek(SeekFrom::Start(covered.saturating_sub(4)))?;
    file.read_exact(&mut tail)?;
    let [l0, l1, l2, l3, check @ .., _, _, _, _, _, _, _, _] = tail;
    let holds_results = tail.ends_with(&RESULTS);
    if !holds_results && !tail.ends_with(&REDUCED) {
        return Err(damaged("its last bytes are not those of an entry"));
    }
    let length = u64::from(u32::from_le_bytes([l0, l1, l2, l3]));
    let body = covered.checked_sub(4 + length);
    let body = body.filter(|_| length <= MOST_FACTS);
    let body = body.ok_or_else(|| damaged("its facts are too long"))?;
    file.seek(SeekFrom::Start(body))?;
    let mut facts = vec![0; length as usize];
    file.read_exact(&mut facts)?;
    let facts = match holds_results {
        true => Facts::Results(serde_json::from_slice(&facts)?),
        false => Facts::Reduced(serde_json::from_slice(&facts)?),
    };
    Ok(EntryTail {
        facts,
        body,
        covered,
        check: u64::from_le_bytes(check),
    })
}

/// Reads the body of an entry, and checks the whole entry.
///
/// # Errors
/// If the file cannot be read, or differs from what was written.
pub(super) fn body(mut file: &File, tail: &EntryTail) -> io::Result<Vec<u8>> {
    check(file, tail)?;
    file.rewind()?;
    let mut body = Vec::new();
    file.take(tail.body).read_to_end(&mut body)?;
    Ok(body)
}

/// Checks the whole entry.
///
/// # Errors
/// If the file cannot be read, or differs from what was written.
pub(super) fn check(mut file: &File, tail: &EntryTail) -> io::Result<()> {
    file.rewind()?;
    let mut hasher = Xxh3Default::new();
    let mut from = file.take(tail.covered);
    let mut bytes = vec![0; READ_BYTES];
    loop {
        match from.read(&mut bytes)? {
            0 => break,
            count => hasher.update(&bytes[..count]),
        }
    }
    if hasher.digest() != tail.check {
        return Err(damaged("its check does not agree"));
    }
    Ok(())
}
