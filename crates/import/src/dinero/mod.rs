//! Dinero's traces: one reference a line, in both text forms of Dinero IV.

use broadleaf_trace::{DataAccess, Header};
use broadleaf_units::Described;

use crate::error::ImportError;
use crate::foreign_format::ForeignFormat;
use crate::import::{ImportEntry, ImportOptions, LeftOut, OF_NO_BYTES, OpenedImport, Taken};
use crate::lines::{Lines, hexadecimal, shown, words};
use crate::references::{Reference, ReferenceImporter, ReferenceReader};
use crate::source::ImportSource;

/// The size that Dinero takes for references of the traditional form, and their alignment.
const DIN_SIZE: u64 = 4;
/// The largest access that a line may state, in bytes.
const MOST_BYTES: u64 = 1 << 16;

/// The catalogue's entry.
pub(crate) static DINERO: ForeignFormat = ForeignFormat {
    described: Described {
        name: "dinero",
        summary: "text of Dinero's traces (.din, .xdin): one reference a line",
        explanation: "The traditional form has a label and a hexadecimal address. It has no sizes, \
                  so that each reference is taken to be of 4 bytes at a multiple of 4, as Dinero \
                  IV takes it. The extended form has a letter, an address and a size, both \
                  hexadecimal. The rest of a line is a comment. The first line decides the form. \
                  A miscellaneous access is a load, since Dinero IV gives it to the cache of data, \
                  as a read. Dinero IV has sizes of 0 for commands to caches alone: a reference \
                  of no bytes is one of the byte at its address. The import counts both kinds. \
                  Commands to caches are left out. Read by `import dinero`, also from standard \
                  input and compressed.",
        source: "Dinero IV, dinfmt.c, xdinfmt.c and the manual page",
    },
    layout: &[
        ("`0 ADDRESS`", "a load"),
        ("`1 ADDRESS`", "a store"),
        ("`2 ADDRESS`", "an instruction"),
        (
            "`3 ADDRESS`",
            "a miscellaneous access, which is taken to be a load",
        ),
        ("`4 ADDRESS`", "a command to the cache: left out"),
        (
            "`r ADDRESS SIZE`",
            "a load, in the extended form; all letters may be capitals",
        ),
        ("`w ADDRESS SIZE`", "a store"),
        ("`i ADDRESS SIZE`", "an instruction"),
        (
            "`m ADDRESS SIZE`",
            "a miscellaneous access, which is taken to be a load",
        ),
        (
            "`c` and `v`, as `r`",
            "commands to the cache (copy back, invalidate): left out",
        ),
    ],
    endings: &["din", "xdin"],
    import: Some(ImportEntry {
        open,
        reads_folders: false,
        has_physical: false,
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

struct DineroReader {
    lines: Lines,
    form: Option<Form>,
    unusual: Unusual,
}

/// Counts of references that are taken otherwise than a line states them.
#[derive(Default)]
struct Unusual {
    miscellaneous: u64,
    of_no_bytes: u64,
}

fn open(source: ImportSource, options: &ImportOptions) -> OpenedImport {
    let reader = DineroReader {
        lines: Lines::new(source.decompressed()?),
        form: None,
        unusual: Unusual::default(),
    };
    Ok(Box::new(ReferenceImporter::new(reader, options)))
}

/// The reference of a line of words, and the line's form.
#[inline]
fn reference(line: &[u8], unusual: &mut Unusual) -> Result<(Form, Reference), String> {
    // Nearly all lines of the traditional form are like this.
    if let [label @ b'0'..=b'2', b' ', address @ ..] = line
        && let Some(first) = hexadecimal(address)
    {
        let first = first / DIN_SIZE * DIN_SIZE;
        let reference = match label {
            b'0' => Reference::data(DataAccess::Load, first, DIN_SIZE)?,
            b'1' => Reference::data(DataAccess::Store, first, DIN_SIZE)?,
            _ => Reference::Instruction(first),
        };
        return Ok((Form::Traditional, reference));
    }
    let mut words = words(line);
    let (Some(label), Some(address)) = (words.next(), words.next()) else {
        return Err("no label and address, as in \"0 7fff1000\" or \"r 7fff1000 8\"".to_owned());
    };
    let first = hexadecimal(address)
        .ok_or_else(|| format!("{} is no hexadecimal address of 64 bits", shown(address)))?;
    let form = match label {
        [b'0'..=b'4'] => Form::Traditional,
        [letter] if b"rwimvcRWIMVC".contains(letter) => Form::Extended,
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
            (first, size)
        }
    };
    let reference = match label {
        b"0" | b"r" | b"R" => Reference::data(DataAccess::Load, first, size.max(1))?,
        b"1" | b"w" | b"W" => Reference::data(DataAccess::Store, first, size.max(1))?,
        b"2" | b"i" | b"I" => Reference::Instruction(first),
        b"3" | b"m" | b"M" => {
            unusual.miscellaneous += 1;
            Reference::data(DataAccess::Load, first, size.max(1))?
        }
        _ => return Ok((form, Reference::Nothing)),
    };
    unusual.of_no_bytes += u64::from(size == 0);
    Ok((form, reference))
}

impl ReferenceReader for DineroReader {
    fn next(&mut self) -> Result<Option<Reference>, ImportError> {
        let found = loop {
            match self.lines.next()? {
                None => return Ok(None),
                Some(b"") => {}
                Some([b' ' | b'\t', rest @ ..]) if words(rest).next().is_none() => {}
                Some(line) => break reference(line, &mut self.unusual),
            }
        };
        let (form, reference) = found.map_err(|reason| self.lines.bad(reason))?;
        if *self.form.get_or_insert(form) != form {
            let reason = "the line has the other form of Dinero's: a trace has one form";
            return Err(self.lines.bad(reason));
        }
        Ok(Some(reference))
    }

    fn bad(&self, reason: &str) -> ImportError {
        self.lines.bad(reason)
    }

    fn describe(&self, header: &mut Header) {
        header.options.instruction_counts = true;
        header.notes.push(
            "imported from a trace of Dinero: nothing is known of mappings, and references \
             without a size are taken to be of 4 bytes"
                .to_owned(),
        );
    }

    fn left_out(&self, nothing: u64) -> Vec<LeftOut> {
        LeftOut::some(&[(nothing, "commands to caches")])
    }

    fn taken(&self) -> Vec<Taken> {
        Taken::some(&[
            (
                self.unusual.miscellaneous,
                "miscellaneous accesses, taken to be loads as Dinero IV takes them",
            ),
            (self.unusual.of_no_bytes, OF_NO_BYTES),
        ])
    }
}

#[cfg(test)]
mod tests;
