//! References, packed into records in their order.
//!
//! A record makes its loads before its stores. So references in order fit one record as long as
//! they are at most four loads followed by at most two stores.

use super::record::{ChampSimRecord, MOST_LOADS, MOST_STORES};
use broadleaf_trace::DataAccess;

/// Packs references into records.
#[derive(Clone, Debug, Default)]
pub(super) struct Packer {
    /// The record that still grows.
    open: Option<ChampSimRecord>,
    loads: usize,
    stores: usize,
    /// Instruction pointer of the records that follow.
    pub(super) ip: u64,
}

impl Packer {
    /// Begins an instruction. Returns the record before it.
    pub(super) fn begin(&mut self) -> Option<ChampSimRecord> {
        (self.loads, self.stores) = (0, 0);
        self.open.replace(ChampSimRecord {
            ip: self.ip,
            ..ChampSimRecord::default()
        })
    }

    /// Returns true if the record that still grows can take this reference as its last.
    pub(super) fn fits(&self, access: DataAccess) -> bool {
        self.open.is_some()
            && match access {
                DataAccess::Load => self.loads < MOST_LOADS && self.stores == 0,
                DataAccess::Store => self.stores < MOST_STORES,
            }
    }

    /// Appends a reference that fits.
    pub(super) fn put(&mut self, access: DataAccess, address: u64) {
        let Some(record) = &mut self.open else { return };
        match access {
            DataAccess::Load => {
                record.loads[self.loads] = address;
                self.loads += 1;
            }
            DataAccess::Store => {
                record.stores[self.stores] = address;
                self.stores += 1;
            }
        }
    }

    /// The last record.
    pub(super) fn finish(&mut self) -> Option<ChampSimRecord> {
        self.open.take()
    }
}
