//! The checksum of a journal's records.
//!
//! Each record ends with the CRC-32 of all records so far, including its own. A CRC detects any
//! change of up to 32 neighbouring bits, so a changed character is always found. The sums are
//! chained, so a missing, doubled or moved record is found too. Records that are missing at the end
//! are not found, because the journal of a killed run may end anywhere.

/// The running checksum of a journal's records.
#[derive(Clone, Debug, Default)]
pub(super) struct Checksum(crc32fast::Hasher);

impl Checksum {
    /// Appends the checksum to a record. The record must be a JSON object that is not empty.
    pub(super) fn seal(&mut self, record: &mut Vec<u8>) {
        record.pop();
        self.0.update(record);
        record.extend_from_slice(self.end().as_bytes());
    }

    /// Returns the record without its checksum, or `None` if the checksum differs.
    pub(super) fn open(&mut self, sealed: &[u8]) -> Option<Vec<u8>> {
        let (record, end) = sealed.split_at(sealed.len().checked_sub(self.end().len())?);
        self.0.update(record);
        (end == self.end().as_bytes()).then(|| [record, b"}"].concat())
    }

    /// Returns the end of a record: its last field.
    fn end(&self) -> String {
        format!(",\"crc\":\"{:08x}\"}}", self.0.clone().finalize())
    }
}
