//! Made up: a line for each load, its address in hexadecimal.

use std::io::{BufRead, BufReader};

use broadleaf_trace::{DataAccess, Fold, Header};
use broadleaf_units::Described;

use crate::batch::ImportBatch;
use crate::foreign_format::ForeignFormat;
use crate::compression::Bytes;
use crate::error::{ImportError, Spot};
use crate::import::{ImportCounts, ImportEntry, ImportOptions, OpenedImport, TraceImporter};
use crate::source::ImportSource;

pub(crate) static HEXES: ForeignFormat = ForeignFormat {
    described: Described {
        name: "hexes",
        summary: "made up: a line for each load or store",
        explanation: "A line is `l` or `s`, and an address in hexadecimal. `import hexes` reads \
                      it.",
        source: "nowhere",
    },
    layout: &[("`l ADDRESS.`", "a load"), ("`s ADDRESS.`", "a store")],
    endings: &["hexes"],
    import: Some(ImportEntry {
        open,
        reads_folders: false,
        has_physical: false,
        records: "lines",
    }),
    export: None,
    sample: b"l1000.\ns2ff8.\nl2000.\n",
};

struct Hexes {
    name: String,
    lines: BufReader<Bytes>,
    fold: Fold,
    fetches: bool,
    offset: u64,
    counts: ImportCounts,
}

fn open(source: ImportSource, options: &ImportOptions) -> OpenedImport {
    let opened = source.decompressed()?;
    Ok(Box::new(Hexes {
        name: opened.name,
        lines: BufReader::new(opened.bytes),
        fold: Fold::new(options.grain),
        fetches: options.fetches,
        offset: 0,
        counts: ImportCounts::default(),
    }))
}

impl Hexes {
    fn bad(&self, reason: &str) -> ImportError {
        ImportError::Record {
            name: self.name.clone(),
            spot: Spot {
                noun: "line",
                number: self.counts.records + 1,
                offset: self.offset,
                decompressed: false,
            },
            reason: reason.to_owned(),
        }
    }
}

impl TraceImporter for Hexes {
    fn describe(&self, header: &mut Header) {
        header.options.instruction_counts = true;
        header.options.instruction_pages = self.fetches;
        header.notes.push("made up".to_owned());
    }

    fn read(&mut self, batch: &mut ImportBatch) -> Result<bool, ImportError> {
        let mut line = Vec::new();
        let limited = &mut std::io::Read::take(&mut self.lines, 20);
        if let Err(error) = limited.read_until(b'\n', &mut line) {
            return Err(self.bad(&format!("the compressed data is cut short ({error})")));
        }
        if line.is_empty() {
            let before = batch.len();
            self.fold.cut(&mut batch.visits);
            return Ok(batch.len() > before);
        }
        let text = String::from_utf8_lossy(&line);
        let found = text
            .strip_suffix(".\n")
            .and_then(|text| text.split_at_checked(1));
        let Some((kind, address)) = found else {
            return Err(self.bad("no `.` at the end of a line"));
        };
        let Ok(address) = u64::from_str_radix(address, 16) else {
            return Err(self.bad("no hexadecimal address"));
        };
        let access = match kind {
            "l" => DataAccess::Load,
            "s" => DataAccess::Store,
            _ => return Err(self.bad("neither l nor s")),
        };
        if self.fetches {
            self.fold.fetch(address, &mut batch.visits);
        } else {
            self.fold.instruction();
        }
        self.fold
            .access(access, address, address, &mut batch.visits);
        self.offset += line.len() as u64;
        self.counts.records += 1;
        self.counts.instructions += 1;
        match access {
            DataAccess::Load => self.counts.loads += 1,
            DataAccess::Store => self.counts.stores += 1,
        }
        Ok(true)
    }

    fn counts(&self) -> ImportCounts {
        self.counts
    }
}
