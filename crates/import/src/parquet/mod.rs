//! References in Parquet files, from notebooks and databases.
//!
//! `columns` reads the values of one column, and `guarded` calls the library. This file finds the
//! columns, and makes references of their rows.

mod columns;
mod guarded;

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::FileExt;

use ::parquet::file::metadata::ParquetMetaData;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use broadleaf_trace::Header;
use broadleaf_units::Described;

use crate::compression::{Compression, peek};
use crate::error::ImportError;
use crate::foreign_format::ForeignFormat;
use crate::import::{ImportEntry, ImportOptions, LeftOut, OpenedImport};
use crate::references::{Reference, ReferenceImporter, ReferenceKind, ReferenceReader};
use crate::source::{ImportMeter, ImportSource};
use columns::{Numbers, Words};
use guarded::guarded;

/// The catalogue's entry.
pub(crate) static PARQUET: ForeignFormat = ForeignFormat {
    described: Described {
        name: "parquet",
        summary: "Parquet files (.parquet): one reference a row, with columns by name",
        explanation: "The columns are those of the format csv: `address` holds integers, `kind` \
                  texts (load, store or fetch; without this column, each row is a load), and \
                  `size` integers, in bytes (1 without this column). Other columns are left out. \
                  A value may not be null. Pages of the file may be compressed with Snappy, \
                  zstd, gzip or LZ4. Read by `import parquet`; from a pipe by way of a temporary \
                  file, since the list of columns is at the file's end.",
        source: "Apache Parquet, format 2",
    },
    layout: &[
        ("`address`", "the first byte: integers of 32 or 64 bits"),
        ("`kind`", "texts as in the format csv"),
        (
            "`size`",
            "the bytes, from 1 to 65536: integers of 32 or 64 bits",
        ),
    ],
    endings: &["parquet"],
    import: Some(ImportEntry {
        open,
        reads_folders: false,
        has_physical: false,
        records: "rows",
    }),
    export: None,
    sample: include_bytes!("sample"),
};

/// The first and last bytes of a file.
const MAGIC: &[u8; 4] = b"PAR1";
/// The bytes after the footer: the footer's length and the magic bytes.
const TAIL: usize = 8;
/// The rows whose values are held at once.
const ROWS: usize = 1 << 13;

/// The places of the columns.
#[derive(Clone, Copy, Debug)]
struct Columns {
    address: usize,
    kind: Option<usize>,
    size: Option<usize>,
    count: usize,
}

impl Columns {
    fn of(metadata: &ParquetMetaData) -> Result<Self, String> {
        let schema = metadata.file_metadata().schema_descr();
        let columns = schema.columns();
        let mut places = [None; 3];
        for (place, wanted) in places.iter_mut().zip(["address", "kind", "size"]) {
            let named = |name: &str| name.eq_ignore_ascii_case(wanted);
            let mut found = (0..columns.len()).filter(|at| named(columns[*at].name()));
            *place = found.next();
            if found.next().is_some() {
                return Err(format!("two columns are called \"{wanted}\""));
            }
            if place.is_some_and(|at| columns[at].max_rep_level() > 0) {
                return Err(format!("the column \"{wanted}\" holds lists"));
            }
        }
        let [address, kind, size] = places;
        let names = || columns.iter().map(|column| column.name());
        let address = address.ok_or_else(|| {
            let names = names().take(20).collect::<Vec<_>>().join(", ");
            format!("no column is called \"address\"; there are: {names}")
        })?;
        Ok(Self {
            address,
            kind,
            size,
            count: columns.len(),
        })
    }

    /// The columns that are not read.
    fn others(&self) -> usize {
        self.count - 1 - usize::from(self.kind.is_some()) - usize::from(self.size.is_some())
    }
}

struct ParquetReader {
    name: String,
    file: SerializedFileReader<File>,
    columns: Columns,
    /// Counts the groups of rows; `None` if the bytes were counted while they were copied.
    meter: Option<ImportMeter>,
    group: RowGroup,
    /// The next group of rows.
    next_group: usize,
    /// The rows that were read, of all groups.
    rows: u64,
}

/// The part of a group of rows that is read.
#[derive(Default)]
struct RowGroup {
    /// The first byte in the file.
    at: u64,
    /// The first bytes of the addresses, kinds and sizes.
    chunks_at: [u64; 3],
    bytes: u64,
    rows_left: u64,
    address: Option<Numbers>,
    kind: Option<Words>,
    size: Option<Numbers>,
    /// The rows whose values are held, and the next one of them.
    held: usize,
    next: usize,
}

fn open(source: ImportSource, options: &ImportOptions) -> OpenedImport {
    let name = source.name().to_owned();
    let meter = source.meter();
    let (file, is_copy) = file_of(source)?;
    let meter = Some(meter).filter(|_| !is_copy);
    let footer = footer_at(&file).map_err(|error| ImportError::io(&name, error))?;
    let opened = guarded(|| {
        let file = SerializedFileReader::new(file);
        let file = file.map_err(|error| format!("the file is damaged or cut short: {error}"))?;
        Ok((Columns::of(file.metadata())?, file))
    });
    let (columns, file) = opened.map_err(|reason| {
        let reason = format!("the footer (at byte {footer}): {reason}");
        ImportError::input(&name, reason)
    })?;
    let reader = ParquetReader {
        name,
        file,
        columns,
        meter,
        group: RowGroup::default(),
        next_group: 0,
        rows: 0,
    };
    Ok(Box::new(ReferenceImporter::new(reader, options)))
}

/// The first byte of the footer, which lists the columns: the file ends with the footer, its length
/// and the magic bytes. If the length cannot be, the byte where the length is, or would be.
fn footer_at(file: &File) -> io::Result<u64> {
    let size = file.metadata()?.len();
    let Some(end) = size.checked_sub(TAIL as u64) else {
        return Ok(size);
    };
    let mut tail = [0; TAIL];
    file.read_exact_at(&mut tail, end)?;
    let [a, b, c, d, ..] = tail;
    let length = u64::from(u32::from_le_bytes([a, b, c, d]));
    Ok(end.checked_sub(length).unwrap_or(end))
}

/// A file of the source's bytes. A stream and a compressed file are copied to a temporary file, and
/// the file is then marked `true`.
fn file_of(source: ImportSource) -> Result<(File, bool), ImportError> {
    let name = source.name().to_owned();
    let cannot = |error: io::Error| ImportError::io(&name, error);
    if let Some(file) = source.file() {
        let mut file = file.try_clone().map_err(cannot)?;
        let (compression, _) = peek(Box::new(file.try_clone().map_err(cannot)?)).map_err(cannot)?;
        // The clone has the same place in the file.
        file.rewind().map_err(cannot)?;
        if compression == Compression::Plain && file.metadata().map_err(cannot)?.len() > 0 {
            return Ok((file, false));
        }
    }
    let mut bytes = source.decompressed()?.bytes;
    let damaged = |after: u64, error: io::Error| match error.raw_os_error() {
        Some(_) => ImportError::io(&name, error),
        None => ImportError::input(
            &name,
            format!(
                "the compressed data after decompressed byte {after} is damaged or cut short \
                 ({error}): copy the file again"
            ),
        ),
    };
    let mut start = Vec::new();
    let taken = bytes.by_ref().take(MAGIC.len() as u64);
    let read = { taken }.read_to_end(&mut start);
    read.map_err(|error| damaged(start.len() as u64, error))?;
    if start != MAGIC {
        let reason = "is no Parquet file: it does not begin with PAR1 (at byte 0)";
        return Err(ImportError::input(&name, reason));
    }
    let mut file = tempfile::tempfile().map_err(cannot)?;
    let copied = io::copy(&mut start.as_slice().chain(bytes), &mut file);
    let end = file.stream_position().map_err(cannot)?;
    copied.map_err(|error| damaged(end, error))?;
    file.rewind().map_err(cannot)?;
    Ok((file, true))
}

impl ParquetReader {
    /// Begins the next group of rows. `false` if there is none.
    fn begin_group(&mut self) -> Result<bool, ImportError> {
        let bytes = std::mem::take(&mut self.group.bytes);
        if let Some(meter) = &self.meter {
            meter.add(bytes);
        }
        if self.next_group == self.file.num_row_groups() {
            return Ok(false);
        }
        let metadata = self.file.metadata().row_group(self.next_group);
        let number = |value: i64| u64::try_from(value).unwrap_or(0);
        let chunks = metadata.columns().iter();
        let places = chunks.clone().map(|chunk| {
            let dictionary = chunk.dictionary_page_offset();
            number(dictionary.unwrap_or(chunk.data_page_offset()))
        });
        let places: Vec<u64> = places.collect();
        self.group.at = places.iter().copied().min().unwrap_or(0);
        let Columns {
            address,
            kind,
            size,
            ..
        } = self.columns;
        self.group.chunks_at = [Some(address), kind, size].map(|column| {
            let place = column.and_then(|column| places.get(column));
            place.copied().unwrap_or(0)
        });
        self.group.bytes = chunks.fold(0, |bytes, chunk| {
            number(chunk.compressed_size()).saturating_add(bytes)
        });
        self.group.rows_left = number(metadata.num_rows());
        self.next_group += 1;
        let opened = self.open_columns();
        let (address, kind, size) = opened.map_err(|reason| self.of_group(&reason))?;
        self.group = RowGroup {
            address: Some(address),
            kind,
            size,
            held: 0,
            next: 0,
            ..std::mem::take(&mut self.group)
        };
        Ok(true)
    }

    fn open_columns(&self) -> Result<(Numbers, Option<Words>, Option<Numbers>), String> {
        let number = self.next_group - 1;
        let group = guarded(|| {
            let group = self.file.get_row_group(number);
            group.map_err(|error| error.to_string())
        })?;
        let schema = self.file.metadata().file_metadata().schema_descr();
        let reader = |column: usize| {
            let reader = group.get_column_reader(column);
            reader.map_err(|error| error.to_string())
        };
        let numbers = |column| Numbers::new(reader(column)?, &schema.column(column));
        let words = |column| Words::new(reader(column)?, &schema.column(column));
        let columns = self.columns;
        let [address_at, kind_at, size_at] = self.group.chunks_at;
        let address = of_column("address", address_at, || numbers(columns.address))?;
        let kind = of_column("kind", kind_at, || columns.kind.map(words).transpose())?;
        let size = of_column("size", size_at, || columns.size.map(numbers).transpose())?;
        Ok((address, kind, size))
    }

    /// Holds the values of the next rows. `false` if the group has no more rows.
    fn hold(&mut self) -> Result<bool, ImportError> {
        let group = &mut self.group;
        let wanted = group.rows_left.min(ROWS as u64) as usize;
        if wanted == 0 {
            return Ok(false);
        }
        let fill = |numbers: &mut Option<Numbers>| {
            let numbers = numbers.as_mut();
            numbers.map_or(Ok(()), |numbers| numbers.fill(wanted))
        };
        let [address_at, kind_at, size_at] = group.chunks_at;
        let filled = of_column("address", address_at, || fill(&mut group.address))
            .and_then(|()| {
                of_column("kind", kind_at, || {
                    let words = group.kind.as_mut();
                    words.map_or(Ok(()), |words| words.fill(wanted))
                })
            })
            .and_then(|()| of_column("size", size_at, || fill(&mut group.size)));
        (group.held, group.next) = (wanted, 0);
        group.rows_left -= wanted as u64;
        match filled {
            Ok(()) => Ok(true),
            Err(reason) => {
                let first = self.rows + 1;
                Err(self.of_group(&format!(
                    "of the {wanted} rows from row {first} on, {reason}"
                )))
            }
        }
    }

    fn of_group(&self, reason: &str) -> ImportError {
        let (group, at) = (self.next_group, self.group.at);
        let reason = format!("row group {group} (at byte {at}): {reason}");
        ImportError::input(&self.name, reason)
    }
}

/// Calls `work` on a column of a group. An error names the column and its first byte in the file.
fn of_column<T>(
    name: &str,
    at: u64,
    work: impl FnOnce() -> Result<T, String>,
) -> Result<T, String> {
    guarded(work).map_err(|reason| format!("column \"{name}\" (at byte {at}): {reason}"))
}

impl ReferenceReader for ParquetReader {
    fn next(&mut self) -> Result<Option<Reference>, ImportError> {
        while self.group.next == self.group.held {
            if !self.hold()? && !self.begin_group()? {
                return Ok(None);
            }
        }
        let at = self.group.next;
        self.group.next += 1;
        self.rows += 1;
        let group = &self.group;
        let values = |numbers: &Option<Numbers>| numbers.as_ref().map(|values| values.at(at));
        let kind = group.kind.as_ref().map(|words| words.at(at));
        let reference = ReferenceKind::of(kind).and_then(|kind| {
            let first = values(&group.address).unwrap_or(Ok(0))?;
            Reference::of_row_values(kind, first, values(&group.size).transpose()?)
        });
        reference.map(Some).map_err(|reason| self.bad(&reason))
    }

    fn bad(&self, reason: &str) -> ImportError {
        self.of_group(&format!("row {}: {reason}", self.rows))
    }

    fn describe(&self, header: &mut Header) {
        header.options.instruction_counts = self.columns.kind.is_some();
        let sizes = match self.columns.size {
            Some(_) => "",
            None => ", and each access is taken to be of 1 byte",
        };
        header.notes.push(format!(
            "imported from a Parquet file: nothing is known of mappings{sizes}"
        ));
    }

    fn left_out(&self, _: u64) -> Vec<LeftOut> {
        LeftOut::some(&[(self.columns.others() as u64, "columns of other names")])
    }
}

#[cfg(test)]
mod tests;
