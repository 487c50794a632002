//! All importers of the catalogue: an importer reads any bytes to their end, or refuses them. A
//! trace can hold the result. The size of reads changes no result.
//!
//! The first byte chooses the importer, the grain, and whether instructions are fetched. The
//! environment variable `BROADLEAF_FUZZ_FORMAT` names the only importer to fuzz.

use std::io::{Cursor, Read};

use broadleaf_import::{
    ImportBatch, ImportCounts, ImportEntry, ImportError, ImportOptions, ImportSource, importable,
};
use broadleaf_trace::{Encoder, Grain, Header, Visit};

/// Hands out its bytes a few at a time.
struct Pieces(Cursor<Vec<u8>>, usize);

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.1.min(buffer.len());
        self.0.read(&mut buffer[..count])
    }
}

/// The limit on visits: a few compressed bytes may decode to any number of them.
const MOST_VISITS: usize = 1 << 20;

#[derive(PartialEq, Eq, Debug)]
struct ImportOutcome {
    batch: ImportBatch,
    counts: ImportCounts,
    error: Option<String>,
}

fn import(
    entry: &ImportEntry,
    from: impl Read + Send + 'static,
    options: &ImportOptions,
) -> Option<ImportOutcome> {
    let mut importer = match (entry.open)(ImportSource::stream("x", from), options) {
        Ok(importer) => importer,
        Err(ImportError::Io { error, .. }) => panic!("bytes in memory do not fail: {error}"),
        Err(_) => return None,
    };
    let mut header = Header::new(options.grain);
    importer.describe(&mut header);
    let mut batch = ImportBatch::default();
    let error = loop {
        match importer.read(&mut batch) {
            Ok(true) if batch.len() < MOST_VISITS => {}
            Ok(_) => break None,
            Err(ImportError::Io { error, .. }) => panic!("bytes in memory do not fail: {error}"),
            Err(error) => break Some(error.to_string()),
        }
    };
    let mut encoder = Encoder::new(std::io::sink(), &header).expect("a header");
    for item in batch.items() {
        encoder.item(&item).expect("a trace can hold it");
    }
    let counts = importer.counts();
    Some(ImportOutcome {
        batch,
        counts,
        error,
    })
}

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    let Some((&choice, bytes)) = bytes.split_first() else {
        return;
    };
    let only = std::env::var("BROADLEAF_FUZZ_FORMAT").ok();
    let is_chosen = |name: &str| only.as_deref().is_none_or(|only| only == name);
    let entries = importable().filter(|(format, _)| is_chosen(format.described.name));
    let entries: Vec<&ImportEntry> = entries.map(|(_, entry)| entry).collect();
    assert!(
        !entries.is_empty(),
        "BROADLEAF_FUZZ_FORMAT names no format: {only:?}"
    );
    let entry = entries[usize::from(choice) % entries.len()];
    let ways = usize::from(choice) / entries.len();
    let options = ImportOptions {
        grain: [Grain::Page, Grain::Line][ways % 2],
        fetches: ways / 2 % 2 == 1,
        physical: ways / 4 % 2 == 1 && entry.has_physical,
    };
    let whole = import(entry, Cursor::new(bytes.to_vec()), &options);
    if let Some(whole) = whole
        .as_ref()
        .filter(|whole| whole.batch.len() < MOST_VISITS)
    {
        let accesses: u64 = whole.batch.visits.iter().map(Visit::accesses).sum();
        // A refused input may leave its last, unfinished visit in the output.
        assert!(accesses <= whole.counts.accesses());
        assert!(whole.error.is_some() || accesses == whole.counts.accesses());
    }
    // How much a decompressor hands out before it meets damage depends on the pieces.
    let is_packed = |error: &String| error.contains("compressed data");
    let error = whole.as_ref().and_then(|whole| whole.error.as_ref());
    if error.is_some_and(is_packed) {
        return;
    }
    let pieces = Pieces(Cursor::new(bytes.to_vec()), 1 + bytes.len() % 7);
    let in_pieces = import(entry, pieces, &options);
    let error = in_pieces.as_ref().and_then(|found| found.error.as_ref());
    if !error.is_some_and(is_packed) {
        assert_eq!(in_pieces, whole);
    }
}
