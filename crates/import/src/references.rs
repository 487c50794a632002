//! Importers of formats whose records are single references: the loop that they share.

use broadleaf_trace::{DataAccess, Fold, Header};

use crate::batch::ImportBatch;
use crate::error::ImportError;
use crate::import::{ImportCounts, ImportOptions, LeftOut, Taken, TraceImporter};

/// The records without a reference before the first one. After them, the input is no trace.
const MOST_BEFORE: u64 = 1 << 20;

/// The content of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reference {
    /// An access, with the addresses of its first and last byte.
    Data(DataAccess, u64, u64),
    /// The address of an instruction.
    Instruction(u64),
    /// An instruction and its access.
    Both(u64, DataAccess, u64, u64),
    /// A record without a reference.
    Nothing,
}

/// The largest access that a row of a table may state, in bytes.
const MOST_ROW_BYTES: u64 = 1 << 16;

/// The kind of a reference in a row of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ReferenceKind {
    Data(DataAccess),
    Fetch,
}

impl ReferenceKind {
    /// The kind of that name. A row without a kind is a load.
    ///
    /// # Errors
    /// No kind has the name.
    pub(crate) fn of(word: Option<&[u8]>) -> Result<Self, String> {
        let Some(word) = word else {
            return Ok(Self::Data(DataAccess::Load));
        };
        match word {
            b"load" => return Ok(Self::Data(DataAccess::Load)),
            b"store" => return Ok(Self::Data(DataAccess::Store)),
            b"fetch" => return Ok(Self::Fetch),
            _ => {}
        }
        let is_one = |words: [&str; 4]| {
            let mut words = words.iter();
            words.any(|known| known.as_bytes().eq_ignore_ascii_case(word))
        };
        if is_one(["load", "l", "read", "r"]) {
            Ok(Self::Data(DataAccess::Load))
        } else if is_one(["store", "s", "write", "w"]) {
            Ok(Self::Data(DataAccess::Store))
        } else if is_one(["fetch", "f", "instruction", "i"]) {
            Ok(Self::Fetch)
        } else {
            Err("the kind is none of load, store and fetch".to_owned())
        }
    }
}

impl Reference {
    /// The reference of a row. Without a size, it has 1 byte.
    ///
    /// # Errors
    /// The size is 0 or too large, or the access does not fit in the address space.
    pub(crate) fn of_row_values(
        kind: ReferenceKind,
        first: u64,
        size: Option<u64>,
    ) -> Result<Self, String> {
        let size = size.unwrap_or(1);
        if !(1..=MOST_ROW_BYTES).contains(&size) {
            return Err(format!("the size is not between 1 and {MOST_ROW_BYTES}"));
        }
        match kind {
            ReferenceKind::Data(access) => Self::data(access, first, size),
            ReferenceKind::Fetch => Ok(Self::Instruction(first)),
        }
    }

    /// The access of `size` bytes from `first`.
    ///
    /// # Errors
    /// The access does not fit in the address space.
    pub(crate) fn data(access: DataAccess, first: u64, size: u64) -> Result<Self, String> {
        let last = first.checked_add(size.saturating_sub(1));
        let last = last.ok_or("the access reaches past the end of the address space")?;
        Ok(Self::Data(access, first, last))
    }
}

/// Reads references, one record after the other.
pub(crate) trait ReferenceReader {
    /// The next record; `None` at the end.
    ///
    /// # Errors
    /// The record is wrong, or the input cannot be read.
    fn next(&mut self) -> Result<Option<Reference>, ImportError>;

    /// The refusal of the record that was returned last.
    fn bad(&self, reason: &str) -> ImportError;

    /// See [`TraceImporter::describe`].
    fn describe(&self, header: &mut Header);

    /// See [`TraceImporter::left_out`]. `nothing` is the number of records without a reference.
    fn left_out(&self, nothing: u64) -> Vec<LeftOut>;

    /// See [`TraceImporter::taken`].
    fn taken(&self) -> Vec<Taken> {
        Vec::new()
    }
}

/// The importer of a format of single references.
pub(crate) struct ReferenceImporter<R> {
    reader: R,
    fold: Fold,
    fetches: bool,
    counts: ImportCounts,
    nothing: u64,
    ended: bool,
}

impl<R: ReferenceReader> ReferenceImporter<R> {
    pub(crate) fn new(reader: R, options: &ImportOptions) -> Self {
        Self {
            reader,
            fold: Fold::new(options.grain),
            fetches: options.fetches,
            counts: ImportCounts::default(),
            nothing: 0,
            ended: false,
        }
    }

    fn access(&mut self, access: DataAccess, first: u64, last: u64, batch: &mut ImportBatch) {
        match access {
            DataAccess::Load => self.counts.loads += 1,
            DataAccess::Store => self.counts.stores += 1,
        }
        self.fold.access(access, first, last, &mut batch.visits);
    }

    fn instruction(&mut self, address: u64, batch: &mut ImportBatch) {
        self.counts.instructions += 1;
        match self.fetches {
            true => self.fold.fetch(address, &mut batch.visits),
            false => self.fold.instruction(),
        }
    }

    fn nothing(&mut self) -> Result<(), ImportError> {
        self.nothing += 1;
        let is_empty = self.counts.accesses() + self.counts.instructions == 0;
        match is_empty && self.nothing > MOST_BEFORE {
            true => Err(self
                .reader
                .bad("a million records before it hold no reference")),
            false => Ok(()),
        }
    }
}

impl<R: ReferenceReader> TraceImporter for ReferenceImporter<R> {
    fn describe(&self, header: &mut Header) {
        header.options.instruction_pages = self.fetches;
        self.reader.describe(header);
    }

    fn read(&mut self, batch: &mut ImportBatch) -> Result<bool, ImportError> {
        let before = batch.len();
        // Many references make one visit, so the number of records has a bound too.
        for _ in 0..16 * ImportBatch::GOAL {
            if self.ended || batch.len() >= before + ImportBatch::GOAL {
                break;
            }
            let Some(reference) = self.reader.next()? else {
                self.ended = true;
                self.fold.cut(&mut batch.visits);
                break;
            };
            self.counts.records += 1;
            match reference {
                Reference::Data(access, first, last) => self.access(access, first, last, batch),
                Reference::Instruction(address) => self.instruction(address, batch),
                Reference::Both(address, access, first, last) => {
                    self.instruction(address, batch);
                    self.access(access, first, last, batch);
                }
                Reference::Nothing => self.nothing()?,
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
        self.reader.left_out(self.nothing)
    }

    fn taken(&self) -> Vec<Taken> {
        self.reader.taken()
    }
}
