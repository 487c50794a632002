//! Exporting traces for ChampSim.

use std::io::Write;

use broadleaf_trace::{DataAccess, Header, Item, Lead, Totals, Visit};

use super::packer::Packer;
use super::record::{CHAMPSIM_BYTES, ChampSimRecord};
use crate::error::ExportError;
use crate::export::{ExportCounts, TraceExporter};
use crate::import::LeftOut;
use crate::unfolded::{OneSpace, accesses, unwritten};

struct ChampSimExporter<'a> {
    to: &'a mut dyn Write,
    /// Low bits of an address that lie inside a unit.
    shift: u8,
    /// The trace counts instructions or says where they are fetched.
    counted: bool,
    packer: Packer,
    space: OneSpace,
    counts: ExportCounts,
    events: u64,
    leads: u64,
    added: u64,
}

/// Begins an export.
pub(super) fn create<'a>(to: &'a mut dyn Write, header: &Header) -> Box<dyn TraceExporter + 'a> {
    Box::new(ChampSimExporter {
        to,
        shift: header.grain.shift(),
        counted: is_counted(header),
        packer: Packer::default(),
        space: OneSpace::default(),
        counts: ExportCounts::default(),
        events: 0,
        leads: 0,
        added: 0,
    })
}

/// Returns true if the trace counts instructions or says where they are fetched.
fn is_counted(header: &Header) -> bool {
    header.options.instruction_counts || header.options.instruction_pages
}

/// The size of an export: a record for each instruction, or for each access if instructions are not
/// counted. Records added for instructions with many references are left out.
pub(super) fn estimate(header: &Header, totals: &Totals) -> u64 {
    let records = match is_counted(header) {
        true => totals.instructions,
        false => totals.accesses(),
    };
    records.saturating_mul(CHAMPSIM_BYTES as u64)
}

impl ChampSimExporter<'_> {
    fn begin(&mut self) -> Result<(), ExportError> {
        let record = self.packer.begin();
        self.write(record)
    }

    fn write(&mut self, record: Option<ChampSimRecord>) -> Result<(), ExportError> {
        if let Some(record) = record {
            self.counts.records += 1;
            self.to.write_all(&record.to_bytes())?;
        }
        Ok(())
    }

    fn begin_many(&mut self, instructions: u64) -> Result<(), ExportError> {
        (0..instructions).try_for_each(|_| self.begin())
    }

    /// The address of a unit: its first byte. Address 0 means none, so the first unit is named by
    /// its second byte.
    fn address(&self, unit: u64) -> u64 {
        (unit << self.shift).max(1)
    }

    fn visit(&mut self, visit: &Visit) -> Result<(), ExportError> {
        if visit.fetch {
            self.packer.ip = visit.unit << self.shift;
            return self.begin_many(u64::from(visit.instructions));
        }
        if visit.lookups() > 0 {
            self.space.visit("ChampSim")?;
        }
        let mut references = References {
            visit,
            starts: u64::from(visit.instructions),
            left: visit.lookups(),
        };
        // Instructions without a reference come before those that have one.
        let empty = references.starts.saturating_sub(references.left);
        references.starts -= empty;
        self.begin_many(empty)?;
        self.leads += u64::from(visit.lead != Lead::None);
        for (access, count) in accesses(visit) {
            (0..count).try_for_each(|_| self.reference(&mut references, access))?;
        }
        Ok(())
    }

    /// Writes one reference. An instruction begins with it while there are as many instructions as
    /// references left. Where there are fewer, references share an instruction as far as they fit.
    fn reference(
        &mut self,
        references: &mut References<'_>,
        access: DataAccess,
    ) -> Result<(), ExportError> {
        let fits = self.packer.fits(access);
        let begins = if self.counted {
            !fits || references.starts >= references.left
        } else {
            true
        };
        if begins {
            match references.starts.checked_sub(1) {
                Some(starts) => references.starts = starts,
                None if self.counted => self.added += 1,
                None => {}
            }
            self.begin()?;
        }
        references.left = references.left.saturating_sub(1);
        self.counts.references += 1;
        let address = self.address(references.visit.unit);
        self.packer.put(access, address);
        Ok(())
    }
}

/// The references of a visit that are left to write.
struct References<'v> {
    visit: &'v Visit,
    /// Instructions that have not begun.
    starts: u64,
    /// References that are not written.
    left: u64,
}

impl TraceExporter for ChampSimExporter<'_> {
    fn item(&mut self, item: &Item<'_>) -> Result<(), ExportError> {
        match item {
            Item::Visits(visits) => visits.iter().try_for_each(|visit| self.visit(visit)),
            Item::Event(event) => {
                self.events += 1;
                self.space.event(event);
                Ok(())
            }
        }
    }

    fn finish(&mut self) -> Result<(), ExportError> {
        let last = self.packer.finish();
        self.write(last)?;
        Ok(self.to.flush()?)
    }

    fn counts(&self) -> ExportCounts {
        self.counts
    }

    fn left_out(&self) -> Vec<LeftOut> {
        let [events, leads] = unwritten(self.events, self.leads);
        let added = "records added, since an instruction has at most 4 loads and then 2 stores";
        LeftOut::some(&[events, leads, (self.added, added)])
    }
}
