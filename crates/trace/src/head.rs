//! The first bytes of a file.

use std::io::{self, Read};

use crate::chunk::{CHECK_BYTES, HEAD_BYTES, MAGIC, MOST_HEAD_BYTES, VERSION, check_agrees};
use crate::error::{Bad, Section, TraceError};
use crate::header::Header;

/// The decoded head of a file.
pub(crate) struct Head {
    pub(crate) header: Header,
    /// The format version.
    pub(crate) version: u16,
    /// The length of the head, in bytes.
    pub(crate) length: u64,
}

/// Reads the head off the start of a file.
pub(crate) fn read(from: &mut impl Read) -> Result<Head, TraceError> {
    let mut bytes = take(from, HEAD_BYTES)?;
    let size = bytes.len() as u64;
    if bytes.is_empty() {
        return Err(TraceError::Empty);
    }
    let common = bytes.len().min(MAGIC.len());
    if bytes[..common] != MAGIC[..common] {
        return Err(TraceError::NotATrace);
    }
    let &[.., v0, v1, l0, l1, l2, l3] = bytes.as_slice() else {
        return Err(TraceError::TooShort { size });
    };
    if bytes.len() < HEAD_BYTES {
        return Err(TraceError::TooShort { size });
    }
    let version = u16::from_le_bytes([v0, v1]);
    let bad = |reason| Bad::new(Section::Head, reason).at(0);
    match version {
        0 => return Err(bad("there is no format version 0")),
        1..=VERSION => {}
        version => return Err(TraceError::Version { version }),
    }
    let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
    if length > MOST_HEAD_BYTES {
        return Err(bad("the claimed length exceeds the limit of a head"));
    }
    bytes.extend(take(from, length + CHECK_BYTES)?);
    let size = bytes.len() as u64;
    if bytes.len() < HEAD_BYTES + length + CHECK_BYTES {
        return Err(TraceError::Truncated { offset: 0, size });
    }
    if !check_agrees(&bytes) {
        return Err(TraceError::BadCheck { offset: 0 });
    }
    let header = Header::from_body(&bytes[HEAD_BYTES..HEAD_BYTES + length]).map_err(bad)?;
    Ok(Head {
        header,
        version,
        length: size,
    })
}

/// Reads `count` bytes, or fewer at the end of the file.
fn take(from: &mut impl Read, count: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(count as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}
