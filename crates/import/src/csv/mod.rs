//! References as comma-separated values, from scripts and notebooks.

use broadleaf_trace::{DataAccess, Header};
use broadleaf_units::Described;

use crate::error::ImportError;
use crate::export::{EXPORT_NOTES, ExportEntry};
use crate::foreign_format::ForeignFormat;
use crate::import::{ImportEntry, ImportOptions, LeftOut, OpenedImport};
use crate::lines::{Lines, hexadecimal, number, shown};
use crate::references::{Reference, ReferenceImporter, ReferenceKind, ReferenceReader};
use crate::source::ImportSource;
use crate::text::TextForm;

/// The catalogue's entry.
pub(crate) static CSV: ForeignFormat = ForeignFormat {
    described: Described {
        name: "csv",
        summary: "comma-separated values (.csv): one reference a row, with columns by name",
        explanation: "The first line names the columns, in any order. `address` is needed. Without \
                  `kind`, each row is a load; without `size`, it has 1 byte. A fetch is an \
                  instruction. Other columns are left out. Values have no quotation marks and no \
                  commas. Read by `import csv`, also from standard input and compressed. `export \
                  csv` writes the kind of each reference and the first byte of its page or line.",
        source: "RFC 4180, without quotation",
    },
    layout: &[
        ("first line", "the names of the columns, between commas"),
        (
            "`address`",
            "the first byte: decimal, or hexadecimal after 0x",
        ),
        (
            "`kind`",
            "`load`, `l`, `read` or `r`; `store`, `s`, `write` or `w`; `fetch`, `f`, \
             `instruction` or `i`, in letters of any case",
        ),
        ("`size`", "the bytes, from 1 to 65536, decimal"),
    ],
    endings: &["csv"],
    import: Some(ImportEntry {
        open,
        reads_folders: false,
        has_physical: false,
        records: "rows",
    }),
    export: Some(ExportEntry {
        create: |to, header| FORM.create(to, header),
        estimate: |_, totals| FORM.estimate(totals),
        ending: "csv",
        is_text: true,
        records: "rows",
        notes: EXPORT_NOTES,
    }),
    sample: include_bytes!("sample"),
};

/// The rows of an export.
static FORM: TextForm = TextForm {
    tool: "rows",
    head: "kind,address\n",
    before: ["load,0x", "store,0x", "fetch,0x"],
    after: "",
};

/// The places of the columns.
struct Columns {
    address: usize,
    kind: Option<usize>,
    size: Option<usize>,
    count: usize,
}

impl Columns {
    /// The columns that a first line names.
    fn of(line: &[u8]) -> Result<Self, String> {
        let names: Vec<String> = fields(line)
            .map(|name| String::from_utf8_lossy(name).to_ascii_lowercase())
            .collect();
        let mut places = [None; 3];
        for (place, wanted) in places.iter_mut().zip(["address", "kind", "size"]) {
            let mut found = names.iter().enumerate().filter(|(_, name)| *name == wanted);
            *place = found.next().map(|(at, _)| at);
            if found.next().is_some() {
                return Err(format!("two columns are called \"{wanted}\""));
            }
        }
        let [address, kind, size] = places;
        let address = address.ok_or(
            "no column is called \"address\": the first line names the columns, as in \
             address,kind,size",
        )?;
        Ok(Self {
            address,
            kind,
            size,
            count: names.len(),
        })
    }

    /// The columns that are not read.
    fn others(&self) -> usize {
        self.count - 1 - usize::from(self.kind.is_some()) - usize::from(self.size.is_some())
    }
}

/// The values of a row, without the blanks around them.
fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

/// The kind and the address of a row of two columns, `kind` and `address`, in the form that `export
/// csv` writes. `None` for other rows, which are not wrong for that.
#[inline]
fn exported(line: &[u8]) -> Option<(ReferenceKind, u64)> {
    let (kind, address) = match line {
        [b'l', b'o', b'a', b'd', b',', address @ ..] => {
            (ReferenceKind::Data(DataAccess::Load), address)
        }
        [b's', b't', b'o', b'r', b'e', b',', address @ ..] => {
            (ReferenceKind::Data(DataAccess::Store), address)
        }
        [b'f', b'e', b't', b'c', b'h', b',', address @ ..] => (ReferenceKind::Fetch, address),
        _ => return None,
    };
    let is_hexadecimal = address.starts_with(b"0x");
    Some((kind, hexadecimal(address).filter(|_| is_hexadecimal)?))
}

impl Reference {
    fn of_row(line: &[u8], columns: &Columns) -> Result<Self, String> {
        if (columns.kind, columns.address, columns.count) == (Some(0), 1, 2)
            && let Some((kind, first)) = exported(line)
        {
            return Self::of_row_values(kind, first, None);
        }
        let (mut address, mut kind, mut size) = (None, None, None);
        let (mut count, mut rest) = (0, line);
        loop {
            let end = rest.iter().position(|byte| *byte == b',');
            let value = rest[..end.unwrap_or(rest.len())].trim_ascii();
            if count == columns.address {
                address = Some(value);
            } else if Some(count) == columns.kind {
                kind = Some(value);
            } else if Some(count) == columns.size {
                size = Some(value);
            }
            count += 1;
            match end {
                Some(end) => rest = &rest[end + 1..],
                None => break,
            }
        }
        if count != columns.count {
            let columns = columns.count;
            return Err(format!("it has {count} values for {columns} columns"));
        }
        let address = address.unwrap_or_default();
        let is_hexadecimal = address.starts_with(b"0x") || address.starts_with(b"0X");
        let first = match is_hexadecimal {
            true => hexadecimal(address),
            false => number(address, 10),
        };
        let first = first.ok_or_else(|| {
            let address = shown(address);
            format!("{address} is no address: write it in decimal, or in hexadecimal after 0x")
        })?;
        let kind = ReferenceKind::of(kind)?;
        let size = size.map(|size| number(size, 10).unwrap_or(0));
        Self::of_row_values(kind, first, size)
    }
}

struct CsvReader {
    lines: Lines,
    columns: Columns,
}

fn open(source: ImportSource, options: &ImportOptions) -> OpenedImport {
    let mut lines = Lines::new(source.decompressed()?);
    let columns = Columns::of(lines.next()?.unwrap_or_default());
    let columns = columns.map_err(|reason| lines.bad(reason))?;
    let reader = CsvReader { lines, columns };
    Ok(Box::new(ReferenceImporter::new(reader, options)))
}

impl ReferenceReader for CsvReader {
    fn next(&mut self) -> Result<Option<Reference>, ImportError> {
        loop {
            match self.lines.next()? {
                None => return Ok(None),
                Some(line) if line.trim_ascii().is_empty() => {}
                Some(line) => {
                    let row = Reference::of_row(line, &self.columns);
                    return row.map(Some).map_err(|reason| self.lines.bad(reason));
                }
            }
        }
    }

    fn bad(&self, reason: &str) -> ImportError {
        self.lines.bad(reason)
    }

    fn describe(&self, header: &mut Header) {
        header.options.instruction_counts = self.columns.kind.is_some();
        let sizes = match self.columns.size {
            Some(_) => "",
            None => ", and each access is taken to be of 1 byte",
        };
        header.notes.push(format!(
            "imported from comma-separated values: nothing is known of mappings{sizes}"
        ));
    }

    fn left_out(&self, _: u64) -> Vec<LeftOut> {
        LeftOut::some(&[(self.columns.others() as u64, "columns of other names")])
    }
}

#[cfg(test)]
mod tests;
