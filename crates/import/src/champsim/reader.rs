//! Importing ChampSim's traces.

use broadleaf_trace::Header;

use super::record::{CHAMPSIM_BYTES, ChampSimRecord};
use crate::batch::ImportBatch;
use crate::error::ImportError;
use crate::import::{ImportCounts, ImportOptions, OpenedImport, TraceImporter};
use crate::records::Records;
use crate::source::ImportSource;
use broadleaf_trace::{DataAccess, Fold, Visit};

/// The maximum number of records before the first address: 64 MiB of zeros.
const MOST_BEFORE: u64 = (64 << 20) / CHAMPSIM_BYTES as u64;

struct ChampSimImporter {
    records: Records<CHAMPSIM_BYTES>,
    taker: RecordTaker,
    ended: bool,
}

/// The maker of visits.
struct RecordTaker {
    fold: Fold,
    fetches: bool,
    counts: ImportCounts,
    has_address: bool,
}

/// Begins an import.
pub(super) fn open(source: ImportSource, options: &ImportOptions) -> OpenedImport {
    Ok(Box::new(ChampSimImporter {
        records: Records::new(source.decompressed()?),
        taker: RecordTaker {
            fold: Fold::new(options.grain),
            fetches: options.fetches,
            counts: ImportCounts::default(),
            has_address: false,
        },
        ended: false,
    }))
}

impl TraceImporter for ChampSimImporter {
    fn describe(&self, header: &mut Header) {
        header.options.instruction_counts = true;
        header.options.instruction_pages = self.taker.fetches;
        header.notes.push(
            "imported from a trace of ChampSim: nothing is known of mappings, and each access is \
             taken to be of 1 byte"
                .to_owned(),
        );
    }

    fn read(&mut self, batch: &mut ImportBatch) -> Result<bool, ImportError> {
        let before = batch.len();
        let end = before + ImportBatch::GOAL;
        // Records without accesses make no visits, but have to end the call at some time.
        let mut most = 16 * ImportBatch::GOAL;
        while most > 0 && !self.ended && batch.visits.len() < end {
            let some = self.records.ready()?;
            let some = &some[..some.len().min(most)];
            most -= some.len();
            let (mut read, mut refused) = (0, None);
            for bytes in some {
                if batch.visits.len() >= end {
                    break;
                }
                read += 1;
                let taken = self.taker.record(bytes, &mut batch.visits);
                if let Err(reason) = taken {
                    refused = Some(reason);
                    break;
                }
            }
            self.records.pass(read);
            if let Some(reason) = refused {
                return Err(self.records.bad(reason));
            }
            if read == 0 {
                self.ended = true;
                self.taker.fold.cut(&mut batch.visits);
            }
        }
        Ok(!self.ended || batch.len() > before)
    }

    fn counts(&self) -> ImportCounts {
        self.taker.counts
    }
}

impl RecordTaker {
    /// Makes visits of a record.
    ///
    /// # Errors
    /// Returns the reason why the bytes are no record of ChampSim.
    #[inline]
    fn record(
        &mut self,
        bytes: &[u8; CHAMPSIM_BYTES],
        visits: &mut Vec<Visit>,
    ) -> Result<(), &'static str> {
        let record = ChampSimRecord::from_bytes(bytes)?;
        self.counts.records += 1;
        self.counts.instructions += 1;
        match self.fetches {
            true => self.fold.fetch(record.ip, visits),
            false => self.fold.instruction(),
        }
        if record.refers() {
            self.has_address = true;
            for address in record.loads {
                if address != 0 {
                    self.counts.loads += 1;
                    self.fold.access(DataAccess::Load, address, address, visits);
                }
            }
            for address in record.stores {
                if address != 0 {
                    self.counts.stores += 1;
                    self.fold
                        .access(DataAccess::Store, address, address, visits);
                }
            }
        }
        self.has_address |= record.ip != 0;
        if !self.has_address && self.counts.records > MOST_BEFORE {
            return Err("64 MiB before it hold no address: the input is not a trace of ChampSim");
        }
        Ok(())
    }
}
