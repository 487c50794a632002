//! Lackey's text as an entry of the catalogue.

use broadleaf_trace::Header;
use broadleaf_units::Described;

use super::{LackeyError, LackeyReader};
use crate::batch::ImportBatch;
use crate::compression::Bytes;
use crate::error::{ImportError, Spot};
use crate::export::{EXPORT_NOTES, ExportEntry};
use crate::foreign_format::ForeignFormat;
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
    layout: &[
        (
            "`I  ADDRESS,SIZE`",
            "an instruction: the letter in column 1, the address from column 4 on",
        ),
        (
            "` L ADDRESS,SIZE`",
            "a load: the letter in column 2, the address from column 4 on",
        ),
        ("` S ADDRESS,SIZE`", "a store"),
        ("` M ADDRESS,SIZE`", "a load and a store of the same bytes"),
        ("`==PID== TEXT`", "a line of Valgrind: skipped"),
    ],
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
    /// The text comes from a decompressor.
    decompressed: bool,
    reader: LackeyReader<Bytes>,
    fetches: bool,
}

fn open(source: ImportSource, options: &ImportOptions) -> OpenedImport {
    let opened = source.decompressed()?;
    let reader = LackeyReader::new(opened.bytes, options.grain);
    Ok(Box::new(LackeyImporter {
        name: opened.name,
        decompressed: opened.decompressed,
        reader: if options.fetches {
            reader.with_fetches()
        } else {
            reader
        },
        fetches: options.fetches,
    }))
}

impl LackeyImporter {
    fn refusal(&self, error: LackeyError) -> ImportError {
        let (number, offset, reason) = match error {
            LackeyError::BadLine {
                number,
                offset,
                reason,
                content,
            } => (number, offset, format!("{reason}: {content}")),
            LackeyError::Io(error) if error.raw_os_error().is_some() => {
                return ImportError::io(&self.name, error);
            }
            LackeyError::Io(error) => {
                // The lines before were read.
                let counts = self.reader.counts();
                let reason = format!(
                    "the compressed data after this line is damaged or cut short ({error}): copy \
                     the file again"
                );
                (counts.lines + 1, counts.bytes, reason)
            }
        };
        let spot = Spot {
            noun: "line",
            number,
            offset,
            decompressed: self.decompressed,
        };
        ImportError::record(&self.name, spot, reason)
    }
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
        let read = self.reader.read(&mut batch.visits);
        read.map_err(|error| self.refusal(error))
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
