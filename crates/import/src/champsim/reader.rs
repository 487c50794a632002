//! Importing ChampSim's traces.

use broadleaf_trace::Header;

use super::record::{CHAMPSIM_BYTES, ChampSimRecord};
use crate::batch::ImportBatch;
use crate::error::ImportError;
use crate::import::{ImportCounts, ImportOptions, OpenedImport, TraceImporter};
use crate::records::Records;
use crate::source::ImportSource;
use broadleaf_trace::{DataAccess, Fold};

/// The maximum number of records before the first address: 64 MiB of zeros.
const MOST_BEFORE: u64 = (64 << 20) / CHAMPSIM_BYTES as u64;

struct ChampSimImporter {
    records: Records<CHAMPSIM_BYTES>,
    fold: Fold,
    fetches: bool,
    counts: ImportCounts,
    has_address: bool,
    ended: bool,
}

/// Begins an import.
pub(super) fn open(source: ImportSource, options: &ImportOptions) -> OpenedImport {
    Ok(Box::new(ChampSimImporter {
        records: Records::new(source.decompressed()?),
        fold: Fold::new(options.grain),
        fetches: options.fetches,
        counts: ImportCounts::default(),
        has_address: false,
        ended: false,
    }))
}

impl TraceImporter for ChampSimImporter {
    fn describe(&self, header: &mut Header) {
        header.options.instruction_counts = true;
        header.options.instruction_pages = self.fetches;
        header.notes.push(
            "imported from a trace of ChampSim: nothing is known of mappings, and each access is \
             taken to be of 1 byte"
                .to_owned(),
        );
    }

    fn read(&mut self, batch: &mut ImportBatch) -> Result<bool, ImportError> {
        let before = batch.len();
        let visits = &mut batch.visits;
        // Records without accesses make no visits, but have to end the call at some time.
        for _ in 0..16 * ImportBatch::GOAL {
            if self.ended || visits.len() >= before + ImportBatch::GOAL {
                break;
            }
            let Some(bytes) = self.records.next()? else {
                self.ended = true;
                self.fold.cut(visits);
                break;
            };
            let record = match ChampSimRecord::from_bytes(bytes) {
                Ok(record) => record,
                Err(reason) => return Err(self.records.bad(reason)),
            };
            self.counts.records += 1;
            self.counts.instructions += 1;
            if self.fetches {
                self.fold.fetch(record.ip, visits);
            } else {
                self.fold.instruction();
            }
            for address in record.loads.into_iter().filter(|address| *address != 0) {
                self.counts.loads += 1;
                self.fold.access(DataAccess::Load, address, address, visits);
            }
            for address in record.stores.into_iter().filter(|address| *address != 0) {
                self.counts.stores += 1;
                self.fold
                    .access(DataAccess::Store, address, address, visits);
            }
            self.has_address |= record.ip != 0 || self.counts.accesses() > 0;
            if !self.has_address && self.counts.records > MOST_BEFORE {
                let reason = "64 MiB before it hold no address: the input is not a trace of \
                              ChampSim";
                return Err(self.records.bad(reason));
            }
        }
        Ok(!self.ended || batch.len() > before)
    }

    fn counts(&self) -> ImportCounts {
        self.counts
    }
}
