//! The entries of the catalogue, which `lib.rs` lists.

use broadleaf_units::Described;

use crate::FOREIGN_FORMATS;
use crate::export::ExportEntry;
use crate::import::ImportEntry;

/// A trace format of another tool.
#[derive(Clone, Copy, Debug)]
pub struct ForeignFormat {
    /// The name on the command line, and the texts.
    pub described: Described,
    /// The parts of a file in order, each with its content, so that a reader can write a file.
    pub layout: &'static [(&'static str, &'static str)],
    /// The endings of the format's files, without the dot and in small letters, for commands that
    /// read them directly. Files may be compressed.
    pub endings: &'static [&'static str],
    /// The importer; `None` if the format is not read.
    pub import: Option<ImportEntry>,
    /// The exporter; `None` if the format is not written.
    pub export: Option<ExportEntry>,
    /// A small trace, which tests and the fuzzer import. Not written by the other tool.
    pub sample: &'static [u8],
}

impl ForeignFormat {
    /// Returns true if a file of this name, in small letters, has an ending of the format, perhaps
    /// before the ending of a compressed file.
    pub fn has_ending(&self, name: &str) -> bool {
        let compressed = ["gz", "xz", "zst", "lz4"].into_iter();
        let plain = compressed.filter_map(|ending| name.strip_suffix(ending)?.strip_suffix('.'));
        let names = std::iter::once(name).chain(plain);
        let mut pairs = names.flat_map(|name| self.endings.iter().map(move |it| (name, it)));
        pairs.any(|(name, ending)| {
            let rest = name.strip_suffix(ending);
            rest.is_some_and(|rest| rest.ends_with('.'))
        })
    }
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
