//! The interface of importers.

use broadleaf_trace::{Grain, Header};

use crate::batch::ImportBatch;
use crate::error::ImportError;
use crate::source::ImportSource;

/// The options of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportOptions {
    /// The unit of a visit.
    pub grain: Grain,
    /// Instruction fetches become visits, as `record --instructions` makes them.
    pub fetches: bool,
    /// Physical addresses are kept, so the trace becomes one of a whole system.
    pub physical: bool,
}

/// An import that has begun.
pub type OpenedImport = Result<Box<dyn TraceImporter>, ImportError>;

/// The importer of a format: an entry of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct ImportEntry {
    /// Begins an import. The first bytes are read, so that a wrong input is refused at once.
    pub open: fn(ImportSource, &ImportOptions) -> OpenedImport,
    /// True if the input may be a folder.
    pub reads_folders: bool,
    /// True if the input may hold physical addresses.
    pub has_physical: bool,
    /// The name of the format's records, in the plural: "lines".
    pub records: &'static str,
}

/// Reads a foreign trace.
pub trait TraceImporter {
    /// Says in the trace's header what the trace holds, and what users of the trace should know.
    /// The grain and the name of the importer are set by the caller.
    fn describe(&self, header: &mut Header);

    /// Appends visits and events to `batch`, some thousands at most. `false` means that the input
    /// is at its end and nothing was appended.
    ///
    /// # Errors
    /// The first record that cannot be, with its place; or the input cannot be read. What was
    /// appended before is whole.
    fn read(&mut self, batch: &mut ImportBatch) -> Result<bool, ImportError>;

    /// The counts of what was read.
    fn counts(&self) -> ImportCounts;

    /// Returns true if the format has records that have no place in the trace.
    fn may_leave_out(&self) -> bool {
        false
    }

    /// Data that was read and has no place in the trace.
    fn left_out(&self) -> Vec<LeftOut> {
        Vec::new()
    }

    /// References that the trace holds in another form than the input.
    fn taken(&self) -> Vec<Taken> {
        Vec::new()
    }
}

/// The counts of what an importer has read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportCounts {
    /// Records of the foreign format, of every kind.
    pub records: u64,
    /// Instructions.
    pub instructions: u64,
    /// Loads.
    pub loads: u64,
    /// Stores.
    pub stores: u64,
}

impl ImportCounts {
    /// Loads and stores.
    pub const fn accesses(&self) -> u64 {
        self.loads + self.stores
    }
}

/// Records that have no place in a trace of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The number of them.
    pub count: u64,
    /// The name of these data, in the plural.
    pub what: &'static str,
}

/// References that an import takes otherwise than the input states them, as the format's tool does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The number of them.
    pub count: u64,
    /// The name of these references, in the plural, and how they were taken. The number follows.
    pub how: &'static str,
}

impl Taken {
    /// Those of `all` that occurred.
    pub(crate) fn some(all: &[(u64, &'static str)]) -> Vec<Self> {
        let found = all.iter().filter(|(count, _)| *count > 0);
        found.map(|&(count, how)| Self { count, how }).collect()
    }
}

/// The phrase on references whose size is 0.
pub(crate) const OF_NO_BYTES: &str = "references of no bytes, taken to be of 1 byte";

impl LeftOut {
    /// Those of `all` that occurred.
    pub(crate) fn some(all: &[(u64, &'static str)]) -> Vec<Self> {
        let found = all.iter().filter(|(count, _)| *count > 0);
        found.map(|&(count, what)| Self { count, what }).collect()
    }
}
