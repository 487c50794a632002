//! The head of a reduced trace.

use std::io::Read;

use crate::chunk::{CHECK_BYTES, HEAD_BYTES, MOST_HEAD_BYTES, check_agrees};
use crate::error::{Bad, Section, TraceError};
use crate::varint::{self, Cursor};
use xxhash_rust::xxh3::xxh3_64;

/// The first bytes of a reduced trace.
pub const REDUCED_MAGIC: [u8; 10] = *b"BROADLEAFR";
/// The format version that this crate writes.
pub const REDUCED_VERSION: u16 = 1;

/// The metadata of a reduced trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReducedHeader {
    /// The hash of the source trace, in the notation of results.
    pub trace: String,
    /// The family of machines of the reduced trace.
    pub family: String,
}

impl ReducedHeader {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut body = Vec::new();
        varint::put_text(&mut body, &self.trace);
        varint::put_text(&mut body, &self.family);
        let mut bytes = REDUCED_MAGIC.to_vec();
        bytes.extend_from_slice(&REDUCED_VERSION.to_le_bytes());
        bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&body);
        let check = xxh3_64(&bytes);
        bytes.extend_from_slice(&check.to_le_bytes());
        bytes
    }

    /// Reads the head of a file. Returns the head and its length in bytes.
    pub(super) fn read(from: &mut impl Read) -> Result<(Self, u64), TraceError> {
        let bad = |reason| Bad::new(Section::Head, reason).at(0);
        let mut bytes = Vec::new();
        from.take(HEAD_BYTES as u64).read_to_end(&mut bytes)?;
        let size = bytes.len() as u64;
        if !bytes.starts_with(&REDUCED_MAGIC) {
            return Err(TraceError::NotATrace);
        }
        let &[.., v0, v1, l0, l1, l2, l3] = bytes.as_slice() else {
            return Err(TraceError::TooShort { size });
        };
        if bytes.len() < HEAD_BYTES {
            return Err(TraceError::TooShort { size });
        }
        let version = u16::from_le_bytes([v0, v1]);
        if version == 0 {
            return Err(bad("there is no format version 0"));
        }
        if version != REDUCED_VERSION {
            return Err(TraceError::Version { version });
        }
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        if length > MOST_HEAD_BYTES {
            return Err(bad("the claimed length exceeds the limit of a head"));
        }
        let whole = HEAD_BYTES + length + CHECK_BYTES;
        from.take((length + CHECK_BYTES) as u64)
            .read_to_end(&mut bytes)?;
        if bytes.len() < whole {
            let size = bytes.len() as u64;
            return Err(TraceError::Truncated { offset: 0, size });
        }
        if !check_agrees(&bytes) {
            return Err(TraceError::BadCheck { offset: 0 });
        }
        let mut body = Cursor::new(&bytes[HEAD_BYTES..HEAD_BYTES + length]);
        let mut text = || body.text().map_err(bad);
        let header = Self {
            trace: text()?,
            family: text()?,
        };
        if !body.is_empty() {
            return Err(bad("there are bytes after the last field"));
        }
        Ok((header, whole as u64))
    }
}
