//! Dinero's traces: one reference a line, in both text forms of Dinero IV.

use broadleaf_trace::{DataAccess, Fold, Header};
use broadleaf_units::Described;

use crate::batch::ImportBatch;
use crate::catalogue::ForeignFormat;
use crate::error::ImportError;
use crate::import::{
    ImportCounts, ImportEntry, ImportOptions, LeftOut, OpenedImport, TraceImporter,
};
use crate::lines::{Lines, hexadecimal, shown, words};
use crate::source::ImportSource;

/// The size that Dinero takes for references of the traditional form, and their alignment.
const DIN_SIZE: u64 = 4;
/// The largest access that a line may state, in bytes.
const MOST_BYTES: u64 = 1 << 16;
/// The lines without a reference before the first one. After them, the input is no trace.
const MOST_BEFORE: u64 = 1 << 20;

/// The catalogue's entry.
pub(crate) static DINERO: ForeignFormat = ForeignFormat {
    described: Described {
        name: "dinero",
        summary: "text of Dinero's traces (.din, .xdin): one reference a line",
        explanation: "The traditional form has a label and a hexadecimal address: 0 is a load, 1 a \
                  store, 2 an instruction; 3 (an unknown access) and 4 (a flush of the cache) \
                  are left out. It has no sizes, so that each reference is taken to be of 4 \
                  bytes at a multiple of 4, as Dinero IV takes it. The extended form has a letter, \
                  an address and a size, both hexadecimal: r, w and i; m, v and c are left out. \
                  The rest of a line is a comment. The first line decides the form. Read by \
                  `import dinero`, also from standard input and compressed.",
        source: "Dinero IV, NOTES and the manual page",
    },
    import: Some(ImportEntry {
        open,
        records: "lines",
    }),
    export: None,
    sample: include_bytes!("sample"),
};

/// The form of a trace.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A digit and an address.
    Traditional,
    /// A letter, an address and a size.
    Extended,
}

/// The reference of a line.
enum Reference {
    Data(DataAccess, u64, u64),
    Instruction(u64),
    /// An access without a kind, or a command to the cache.
    Nothing,
}

struct DineroImporter {
    lines: Lines,
    fold: Fold,
    fetches: bool,
    form: Option<Form>,
    counts: ImportCounts,
    left_out: u64,
    ended: bool,
}

fn open(source: ImportSource, options: &ImportOptions) -> OpenedImport {
    Ok(Box::new(DineroImporter {
        lines: Lines::new(source.decompressed()?),
        fold: Fold::new(options.grain),
        fetches: options.fetches,
        form: None,
        counts: ImportCounts::default(),
        left_out: 0,
        ended: false,
    }))
}

/// The reference of a line of words, and the line's form.
fn reference(line: &[u8]) -> Result<(Form, Reference), String> {
    let mut words = words(line);
    let (Some(label), Some(address)) = (words.next(), words.next()) else {
        return Err("no label and address, as in \"0 7fff1000\" or \"r 7fff1000 8\"".to_owned());
    };
    let first = hexadecimal(address)
        .ok_or_else(|| format!("{} is no hexadecimal address of 64 bits", shown(address)))?;
    let form = match label {
        [b'0'..=b'4'] => Form::Traditional,
        [b'r' | b'w' | b'i' | b'm' | b'v' | b'c'] => Form::Extended,
        _ => {
            return Err(format!(
                "the label {} is none of 0 to 4, r, w, i, m, v and c",
                shown(label)
            ));
        }
    };
    let (first, size) = match form {
        Form::Traditional => (first / DIN_SIZE * DIN_SIZE, DIN_SIZE),
        Form::Extended => {
            let size = words.next().unwrap_or_default();
            let found = hexadecimal(size).filter(|size| *size <= MOST_BYTES);
            let size = found.ok_or_else(|| {
                format!(
                    "{} is no hexadecimal size of at most {MOST_BYTES} bytes",
                    shown(size)
                )
            })?;
            // Dinero counts an access of no bytes as one of the byte at its address.
            (first, size.max(1))
        }
    };
    let last = first
        .checked_add(size - 1)
        .ok_or("the access reaches past the end of the address space")?;
    let reference = match label {
        b"0" | b"r" => Reference::Data(DataAccess::Load, first, last),
        b"1" | b"w" => Reference::Data(DataAccess::Store, first, last),
        b"2" | b"i" => Reference::Instruction(first),
        _ => Reference::Nothing,
    };
    Ok((form, reference))
}

impl TraceImporter for DineroImporter {
    fn describe(&self, header: &mut Header) {
        header.options.instruction_counts = true;
        header.options.instruction_pages = self.fetches;
        header.notes.push(
            "imported from a trace of Dinero: nothing is known of mappings, and references \
             without a size are taken to be of 4 bytes"
                .to_owned(),
        );
    }

    fn read(&mut self, batch: &mut ImportBatch) -> Result<bool, ImportError> {
        let before = batch.len();
        let visits = &mut batch.visits;
        for _ in 0..16 * ImportBatch::GOAL {
            if self.ended || visits.len() >= before + ImportBatch::GOAL {
                break;
            }
            let Some(line) = self.lines.next()? else {
                self.ended = true;
                self.fold.cut(visits);
                break;
            };
            if words(line).next().is_none() {
                continue;
            }
            let found = reference(line);
            self.counts.records += 1;
            let reference = match found {
                Ok((form, reference)) if *self.form.get_or_insert(form) == form => reference,
                Ok(_) => {
                    let reason = "the line has the other form of Dinero's: a trace has one form";
                    return Err(self.lines.bad(reason));
                }
                Err(reason) => return Err(self.lines.bad(reason)),
            };
            match reference {
                Reference::Data(access, first, last) => {
                    match access {
                        DataAccess::Load => self.counts.loads += 1,
                        DataAccess::Store => self.counts.stores += 1,
                    }
                    self.fold.access(access, first, last, visits);
                }
                Reference::Instruction(address) => {
                    self.counts.instructions += 1;
                    match self.fetches {
                        true => self.fold.fetch(address, visits),
                        false => self.fold.instruction(),
                    }
                }
                Reference::Nothing => {
                    self.left_out += 1;
                    if self.left_out > MOST_BEFORE
                        && self.counts.accesses() + self.counts.instructions == 0
                    {
                        let reason = "a million lines before it hold no reference";
                        return Err(self.lines.bad(reason));
                    }
                }
            }
        }
        Ok(!self.ended || batch.len() > before)
    }

    fn counts(&self) -> ImportCounts {
        self.counts
    }

    fn may_leave_out(&self) -> bool {
        true
    }

    fn left_out(&self) -> Vec<LeftOut> {
        LeftOut::some(&[(
            self.left_out,
            "accesses without a kind and commands to caches",
        )])
    }
}

#[cfg(test)]
mod tests;
