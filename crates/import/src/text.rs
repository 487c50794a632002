//! Exports as text: one line for each reference.

use std::io::Write;

use broadleaf_trace::{DataAccess, Header, Item, Lead, Totals, Visit};

use crate::error::ExportError;
use crate::export::{ExportCounts, TraceExporter};
use crate::import::LeftOut;
use crate::unfolded::{OneSpace, accesses, unwritten};

/// The lines of a text format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextForm {
    /// The name of the format's tool, in messages.
    pub(crate) tool: &'static str,
    /// The text before the first reference.
    pub(crate) head: &'static str,
    /// The text before the address of a load, of a store and of an instruction.
    pub(crate) before: [&'static str; 3],
    /// The text after an address, up to the end of the line.
    pub(crate) after: &'static str,
}

impl TextForm {
    /// The largest number of bytes of a line with an address of a user's program.
    const fn most(&self) -> u64 {
        let [load, store, instruction] = self.before;
        let mut most = load.len();
        if store.len() > most {
            most = store.len();
        }
        if instruction.len() > most {
            most = instruction.len();
        }
        (most + 12 + self.after.len()) as u64
    }

    /// Estimates the size of an export, with addresses as long as programs have them.
    pub(crate) const fn estimate(&self, totals: &Totals) -> u64 {
        let lines = totals.accesses().saturating_add(totals.instructions);
        lines.saturating_mul(self.most())
    }

    /// Begins an export.
    pub(crate) fn create<'a>(
        &'static self,
        to: &'a mut dyn Write,
        header: &Header,
    ) -> Box<dyn TraceExporter + 'a> {
        Box::new(TextExporter {
            to,
            form: self,
            shift: header.grain.shift(),
            begun: false,
            space: OneSpace::default(),
            instruction: 0,
            counts: ExportCounts::default(),
            events: 0,
            leads: 0,
        })
    }
}

struct TextExporter<'a> {
    to: &'a mut dyn Write,
    form: &'static TextForm,
    /// Low bits of an address that lie inside a unit.
    shift: u8,
    /// The head was written.
    begun: bool,
    space: OneSpace,
    /// The address of instructions; 0 if the trace holds none.
    instruction: u64,
    counts: ExportCounts,
    events: u64,
    leads: u64,
}

impl TextExporter<'_> {
    fn begin(&mut self) -> Result<(), ExportError> {
        if !self.begun {
            self.begun = true;
            self.to.write_all(self.form.head.as_bytes())?;
        }
        Ok(())
    }

    fn lines(&mut self, before: &str, address: u64, count: u32) -> Result<(), ExportError> {
        for _ in 0..count {
            writeln!(self.to, "{before}{address:x}{}", self.form.after)?;
        }
        self.counts.records += u64::from(count);
        Ok(())
    }

    fn visit(&mut self, visit: &Visit) -> Result<(), ExportError> {
        let [load, store, instruction] = self.form.before;
        let address = visit.unit << self.shift;
        if visit.fetch {
            self.instruction = address;
        }
        self.lines(instruction, self.instruction, visit.instructions)?;
        if visit.fetch || visit.lookups() == 0 {
            return Ok(());
        }
        self.space.visit(self.form.tool)?;
        self.leads += u64::from(visit.lead != Lead::None);
        for (access, count) in accesses(visit) {
            let before = match access {
                DataAccess::Load => load,
                DataAccess::Store => store,
            };
            self.lines(before, address, count)?;
            self.counts.references += u64::from(count);
        }
        Ok(())
    }
}

impl TraceExporter for TextExporter<'_> {
    fn item(&mut self, item: &Item<'_>) -> Result<(), ExportError> {
        self.begin()?;
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
        self.begin()?;
        Ok(self.to.flush()?)
    }

    fn counts(&self) -> ExportCounts {
        self.counts
    }

    fn left_out(&self) -> Vec<LeftOut> {
        LeftOut::some(&unwritten(self.events, self.leads))
    }
}
