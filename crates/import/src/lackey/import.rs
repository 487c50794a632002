//! Lackey's text as an entry of the catalogue.

use broadleaf_trace::Header;
use broadleaf_units::Described;

use super::{LackeyError, LackeyReader};
use crate::batch::ImportBatch;
use crate::catalogue::ForeignFormat;
use crate::compression::Bytes;
use crate::error::ImportError;
use crate::export::{EXPORT_NOTES, ExportEntry};
use crate::import::{ImportCounts, ImportEntry, ImportOptions, OpenedImport, TraceImporter};
use crate::source::ImportSource;
use crate::text::TextForm;

/// The catalogue's entry.
pub(crate) static LACKEY: ForeignFormat = ForeignFormat {
    described: Described {
        name: "lackey",
        summary: "text of `valgrind --tool=lackey --trace-mem=yes` (.lackey): every reference, \
              no mappings",
        explanation: "One line for each instruction (`I  addr,size`), load (` L addr,size`), store \
                  (` S addr,size`) and load and store of the same bytes by one instruction \
                  (` M addr,size`; the processor asks for write access at once, so the store \
                  comes first). Addresses are hexadecimal, sizes decimal. Valgrind's own lines \
                  (`==PID==`) and blank lines are skipped; any other line is refused with its \
                  number. Read by `import lackey`, `info`, `compare` and `advise`, also from \
                  standard input. `export lackey` writes a load or store of one byte for each \
                  reference, at the first byte of its page or line.",
        source: "Valgrind, lackey/lk_main.c",
    },
    endings: &[],
    import: Some(ImportEntry {
        open,
        reads_folders: false,
        has_physical: false,
        records: "lines",
    }),
    export: Some(ExportEntry {
        create: |to, header| FORM.create(to, header),
        estimate: |_, totals| FORM.estimate(totals),
        ending: "lackey",
        is_text: true,
        records: "lines",
        notes: EXPORT_NOTES,
    }),
    sample: include_bytes!("sample"),
};

/// The lines of an export.
static FORM: TextForm = TextForm {
    tool: "Lackey",
    head: "",
    before: [" L ", " S ", "I  "],
    after: ",1",
};

struct LackeyImporter {
    name: String,
    reader: LackeyReader<Bytes>,
    fetches: bool,
}

fn open(source: ImportSource, options: &ImportOptions) -> OpenedImport {
    let opened = source.decompressed()?;
    let reader = LackeyReader::new(opened.bytes, options.grain);
    Ok(Box::new(LackeyImporter {
        name: opened.name,
        reader: if options.fetches {
            reader.with_fetches()
        } else {
            reader
        },
        fetches: options.fetches,
    }))
}

impl TraceImporter for LackeyImporter {
    fn describe(&self, header: &mut Header) {
        header.options.instruction_counts = true;
        header.options.instruction_pages = self.fetches;
        header
            .notes
            .push("imported from Lackey text: nothing is known of mappings".to_owned());
    }

    fn read(&mut self, batch: &mut ImportBatch) -> Result<bool, ImportError> {
        let name = || self.name.clone();
        self.reader
            .read(&mut batch.visits)
            .map_err(|error| match error {
                LackeyError::Io(error) if error.raw_os_error().is_none() => ImportError::input(
                    &self.name,
                    format!("the compressed data is damaged or cut short ({error})"),
                ),
                LackeyError::Io(error) => ImportError::Io {
                    name: name(),
                    error,
                },
                error => ImportError::Lackey {
                    name: name(),
                    error,
                },
            })
    }

    fn counts(&self) -> ImportCounts {
        let counts = self.reader.counts();
        ImportCounts {
            records: counts.lines,
            instructions: counts.instructions,
            loads: counts.loads,
            stores: counts.stores,
        }
    }
}
