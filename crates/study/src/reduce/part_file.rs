//! The file of a part of a reduced trace.
//!
//! ```text
//! magic (10) | version (2) | reduced trace | facts (JSON) | their length (4) | XXH3 of the facts
//! (8) | end (8)
//! ```

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Take};
use std::path::{Path, PathBuf};

use broadleaf_trace::reduced::ReducedReader;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::{PartNumber, SubtreeValues};
use crate::failure::Failure;
use crate::output::shown;

/// The first bytes of a part of a reduced trace.
pub(crate) const PART_MAGIC: [u8; 10] = *b"BROADLEAFP";
/// The version of the format.
const PART_VERSION: u16 = 1;
/// The last bytes.
const PART_END: [u8; 8] = *b"BLPART\0\0";
/// Magic and version.
const HEAD_BYTES: u64 = 12;
/// Length, check and end.
const TAIL_BYTES: u64 = 4 + 8 + 8;
/// The maximum length of the facts. A part has two hashes for each level of a tree.
const MOST_FACTS: u64 = 1 << 20;

/// The trace, the place and the filter of a part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PartFacts {
    /// The number of the part, from 1.
    pub(super) number: u32,
    /// The number of parts.
    pub(super) of: u32,
    /// A hash of the trace's head and index.
    pub(super) trace: String,
    /// The size of the trace, in bytes.
    pub(super) size: u64,
    /// The part's first byte in the trace, and the byte after its last.
    pub(super) from: u64,
    pub(super) to: u64,
    /// The BLAKE3 values of subtrees over these bytes.
    pub(super) hashes: SubtreeValues,
    /// The filter ([`broadleaf_filter::filter_in_words`]).
    pub(super) filter: String,
    /// The family of machines ([`broadleaf_filter::Family`]).
    pub(super) family: String,
    /// The length of the reduced trace in the file, in bytes.
    pub(super) body: u64,
}

impl PartFacts {
    /// Returns true if the part lies within the trace, and the trace is as long as a file can be.
    const fn have_bounds(&self) -> bool {
        self.from <= self.to && self.to <= self.size && self.size <= i64::MAX.cast_unsigned()
    }
}

/// The start of a part's file.
pub(super) fn begin() -> Vec<u8> {
    [&PART_MAGIC[..], &PART_VERSION.to_le_bytes()].concat()
}

/// The rest of a part's file, after the reduced trace.
///
/// # Errors
/// If the facts have no JSON, which does not happen.
pub(super) fn end(facts: &PartFacts) -> Result<Vec<u8>, Failure> {
    let mut bytes = serde_json::to_vec(facts).map_err(Failure::failed)?;
    let (length, check) = (bytes.len() as u32, xxh3_64(&bytes));
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&check.to_le_bytes());
    bytes.extend_from_slice(&PART_END);
    Ok(bytes)
}

/// A part of a reduced trace. Its file is open only while it is read: there may be more parts
/// than files that a process may open.
#[derive(Debug)]
pub(super) struct PartFile {
    /// The name in messages.
    pub(super) name: String,
    pub(super) facts: PartFacts,
    /// The number of the part, from the facts.
    pub(super) number: PartNumber,
    path: PathBuf,
}

impl PartFile {
    /// Reads the facts of a part.
    ///
    /// # Errors
    /// If the file cannot be read, is no part, or is damaged.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let name = shown(path);
        let cannot = |error: io::Error| Failure::reading(&name, &error);
        let wrong = |why: &str| Failure::Wrong(format!("{name}: {why}"));
        let mut file = File::open(path).map_err(cannot)?;
        let size = file.seek(SeekFrom::End(0)).map_err(cannot)?;
        file.rewind().map_err(cannot)?;
        let mut head = Vec::new();
        let start = (&file).take(HEAD_BYTES).read_to_end(&mut head);
        start.map_err(cannot)?;
        if !head.starts_with(&PART_MAGIC) {
            return Err(wrong(
                "is no part of a reduced trace: `broadleaf reduce TRACE --part I/N -o FILE` \
                 writes one",
            ));
        }
        let damaged = || wrong("is damaged or cut short: reduce this part again");
        if head.len() < HEAD_BYTES as usize {
            return Err(damaged());
        }
        if head[PART_MAGIC.len()..] != PART_VERSION.to_le_bytes() {
            return Err(wrong("was written by another version of Broadleaf"));
        }
        let tail_at = size.checked_sub(TAIL_BYTES).ok_or_else(damaged)?;
        let mut tail = [0; TAIL_BYTES as usize];
        file.seek(SeekFrom::Start(tail_at)).map_err(cannot)?;
        file.read_exact(&mut tail).map_err(cannot)?;
        let [l0, l1, l2, l3, check @ .., _, _, _, _, _, _, _, _] = tail;
        let length = u64::from(u32::from_le_bytes([l0, l1, l2, l3]));
        if !tail.ends_with(&PART_END) || length > MOST_FACTS {
            return Err(damaged());
        }
        let facts_at = tail_at.checked_sub(length).ok_or_else(damaged)?;
        let mut facts = vec![0; length as usize];
        file.seek(SeekFrom::Start(facts_at)).map_err(cannot)?;
        file.read_exact(&mut facts).map_err(cannot)?;
        if xxh3_64(&facts) != u64::from_le_bytes(check) {
            return Err(damaged());
        }
        let facts: PartFacts = serde_json::from_slice(&facts).map_err(|_| damaged())?;
        let number = PartNumber::new(facts.number, facts.of).ok_or_else(damaged)?;
        if HEAD_BYTES.checked_add(facts.body) != Some(facts_at) || !facts.have_bounds() {
            return Err(damaged());
        }
        file.seek(SeekFrom::Start(HEAD_BYTES)).map_err(cannot)?;
        let body = ReducedReader::new((&file).take(facts.body)).map_err(|_| damaged())?;
        if body.header().family != facts.family {
            return Err(damaged());
        }
        Ok(Self {
            name,
            facts,
            number,
            path: path.to_owned(),
        })
    }

    /// The bytes of the reduced trace.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(super) fn body(&self) -> io::Result<Take<File>> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(HEAD_BYTES))?;
        Ok(file.take(self.facts.body))
    }
}
