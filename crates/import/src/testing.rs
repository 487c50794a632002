//! The import of a text, for the tests of the importers.

use broadleaf_trace::{Grain, Visit};
use std::io::Cursor;

use crate::batch::ImportBatch;
use crate::import::{ImportCounts, ImportEntry, ImportOptions, LeftOut, Taken};
use crate::source::ImportSource;

/// The visits, counts and left-out records of a trace.
type Imported = (Vec<Visit>, ImportCounts, Vec<LeftOut>);

/// Imports a text by pages.
pub(crate) fn import_text(entry: Option<&ImportEntry>, text: &str) -> Result<Imported, String> {
    import_bytes(entry, text.as_bytes().to_vec())
}

/// Imports bytes by pages.
pub(crate) fn import_bytes(
    entry: Option<&ImportEntry>,
    bytes: Vec<u8>,
) -> Result<Imported, String> {
    let (imported, _) = import_with_taken(entry, bytes)?;
    Ok(imported)
}

/// Imports bytes by pages. Returns also the references that were taken otherwise.
pub(crate) fn import_with_taken(
    entry: Option<&ImportEntry>,
    bytes: Vec<u8>,
) -> Result<(Imported, Vec<Taken>), String> {
    let options = ImportOptions {
        grain: Grain::Page,
        fetches: false,
        physical: false,
    };
    let source = ImportSource::stream("x", Cursor::new(bytes));
    let open = entry.expect("the format is read").open;
    let mut importer = open(source, &options).map_err(|error| error.to_string())?;
    let mut batch = ImportBatch::default();
    while importer
        .read(&mut batch)
        .map_err(|error| error.to_string())?
    {}
    let imported = (batch.visits, importer.counts(), importer.left_out());
    Ok((imported, importer.taken()))
}
