//! The one table of foreign formats. Command-line names, help, `list formats`, the book's page and
//! the contract tests follow from it.

use crate::export::ExportEntry;
use crate::import::ImportEntry;
use crate::{champsim, drmemtrace, lackey};

/// A trace format of another tool.
#[derive(Clone, Copy, Debug)]
pub struct ForeignFormat {
    /// The name on the command line; also the name of the format's folder in this crate.
    pub name: &'static str,
    /// One line: what writes the format, and what the format holds.
    pub summary: &'static str,
    /// A paragraph: the layout, what is kept and what is not.
    pub explanation: &'static str,
    /// Where the format is described.
    pub source: &'static str,
    /// How the format is read, if it is.
    pub import: Option<ImportEntry>,
    /// How the format is written, if it is.
    pub export: Option<ExportEntry>,
}

/// All foreign formats. A new one is a folder and a line here, beside its `mod` in `lib.rs`.
pub const CATALOGUE: &[ForeignFormat] = &[lackey::FORMAT, drmemtrace::FORMAT, champsim::FORMAT];

/// The formats that can be imported.
pub fn importable() -> impl Iterator<Item = (&'static ForeignFormat, &'static ImportEntry)> {
    let all = CATALOGUE.iter();
    all.filter_map(|format| Some((format, format.import.as_ref()?)))
}

/// The formats that can be exported.
pub fn exportable() -> impl Iterator<Item = (&'static ForeignFormat, &'static ExportEntry)> {
    let all = CATALOGUE.iter();
    all.filter_map(|format| Some((format, format.export.as_ref()?)))
}
