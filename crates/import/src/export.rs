//! What an exporter is.

use std::io::Write;

use broadleaf_trace::{Header, Item};

use crate::error::ExportError;
use crate::import::LeftOut;

/// How a format is written: an entry of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct ExportEntry {
    /// Begins an export of the trace with this header. Nothing may be written yet.
    pub create: for<'a> fn(&'a mut dyn Write, &Header) -> Box<dyn TraceExporter + 'a>,
    /// The ending of the format's files, without the dot: "champsimtrace".
    pub ending: &'static str,
    /// What the format's records are called, in the plural.
    pub records: &'static str,
    /// What the format cannot hold, or what a trace of ours cannot give it. One sentence each.
    pub notes: &'static [&'static str],
}

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

    /// What was written so far.
    fn counts(&self) -> ExportCounts;

    /// What the trace has and the format does not, and what was changed to fit the format.
    fn left_out(&self) -> Vec<LeftOut>;
}

/// What an exporter has written so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportCounts {
    /// Records of the foreign format.
    pub records: u64,
    /// References: each page or line that an access touches.
    pub references: u64,
}
