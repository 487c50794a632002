//! The interface of exporters.

use std::io::Write;

use broadleaf_trace::{Header, Item, Totals};

use crate::error::ExportError;
use crate::import::LeftOut;

/// The exporter of a format: an entry of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct ExportEntry {
    /// Begins an export of the trace with this header. Nothing may be written yet.
    pub create: for<'a> fn(&'a mut dyn Write, &Header) -> Box<dyn TraceExporter + 'a>,
    /// Estimates the size in bytes, without compression, of the export of a trace with this header
    /// and these totals.
    pub estimate: fn(&Header, &Totals) -> u64,
    /// The ending of the format's files, without the dot: "champsimtrace".
    pub ending: &'static str,
    /// True if the format is text, which may go to a terminal.
    pub is_text: bool,
    /// The name of the format's records, in the plural.
    pub records: &'static str,
    /// Data that the format cannot hold, or that a trace of ours cannot give it. One sentence each.
    pub notes: &'static [&'static str],
}

/// The notes on exports of single references without mappings.
pub(crate) static EXPORT_NOTES: &[&str] = &[
    "addresses are the first byte of their page or line, since the trace holds no others",
    "instructions are at the page of the last fetch, or at 0 where the trace holds no fetches",
];

/// Writes a trace in a foreign format.
pub trait TraceExporter {
    /// Appends a piece of the trace.
    ///
    /// # Errors
    /// The piece has no form in the format, or writing fails.
    fn item(&mut self, item: &Item<'_>) -> Result<(), ExportError>;

    /// Writes what is held back.
    ///
    /// # Errors
    /// Writing fails.
    fn finish(&mut self) -> Result<(), ExportError>;

    /// The counts of what was written.
    fn counts(&self) -> ExportCounts;

    /// Data of the trace that the format lacks, and data that was changed to fit the format.
    fn left_out(&self) -> Vec<LeftOut>;
}

/// The counts of what an exporter has written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportCounts {
    /// Records of the foreign format.
    pub records: u64,
    /// References: each page or line that an access touches.
    pub references: u64,
}
