//! The checksum of a journal's records.
//!
//! Each record ends with the CRC-32 of all records so far, its own included. A CRC detects any
//! change of up to 32 neighbouring bits, so a changed character never passes; and as the sums are
//! chained, nor does a record that is missing, doubled or moved. Records that are missing at the
//! end are not noticed: the journal of a run that was killed ends anywhere.

/// The sum of the records so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Checksum(crc32fast::Hasher);

impl Checksum {
    /// Adds its checksum to a record, which is a JSON object that is not empty.
    pub(super) fn seal(&mut self, record: &mut Vec<u8>) {
        record.pop();
        self.0.update(record);
        record.extend_from_slice(self.end().as_bytes());
    }

    /// The record without its checksum; `None` if the checksum is another.
    pub(super) fn open(&mut self, sealed: &[u8]) -> Option<Vec<u8>> {
        let (record, end) = sealed.split_at(sealed.len().checked_sub(self.end().len())?);
        self.0.update(record);
        (end == self.end().as_bytes()).then(|| [record, b"}"].concat())
    }

    /// The end of a record: its last field.
    fn end(&self) -> String {
        format!(",\"crc\":\"{:08x}\"}}", self.0.clone().finalize())
    }
}
