//! The entries of the catalogue.

use broadleaf_units::Described;

use crate::FOREIGN_FORMATS;
use crate::export::ExportEntry;
use crate::import::ImportEntry;

/// A trace format of another tool.
#[derive(Clone, Copy, Debug)]
pub struct ForeignFormat {
    /// The name on the command line, and the texts.
    pub described: Described,
    /// The importer; `None` if the format is not read.
    pub import: Option<ImportEntry>,
    /// The exporter; `None` if the format is not written.
    pub export: Option<ExportEntry>,
    /// A small trace, which tests and the fuzzer import. Not written by the other tool.
    pub sample: &'static [u8],
}

/// The formats that can be imported.
pub fn importable() -> impl Iterator<Item = (&'static ForeignFormat, &'static ImportEntry)> {
    let all = FOREIGN_FORMATS.iter();
    all.filter_map(|format| Some((*format, format.import.as_ref()?)))
}

/// The formats that can be exported.
pub fn exportable() -> impl Iterator<Item = (&'static ForeignFormat, &'static ExportEntry)> {
    let all = FOREIGN_FORMATS.iter();
    all.filter_map(|format| Some((*format, format.export.as_ref()?)))
}
