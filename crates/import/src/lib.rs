//! Traces of other tools: importers and exporters, in one catalogue.
//!
//! An importer turns a foreign trace into visits and events, a batch at a time, from anything that
//! implements [`std::io::Read`]. An exporter does the reverse. Both hold buffers of a fixed size,
//! whatever the input says. [`FOREIGN_FORMATS`] lists all formats. The crate knows nothing of
//! memory, TLBs or the model.
#![forbid(unsafe_code)]

mod ahead;
mod batch;
mod compression;
mod error;
mod export;
mod foreign_format;
mod import;
mod lines;
mod parsed;
mod records;
mod references;
mod source;
#[cfg(test)]
mod testing;
mod text;
mod unfolded;

pub use batch::ImportBatch;
pub use champsim::{CHAMPSIM_BYTES, ChampSimRecord};
pub use compression::{Compression, Compressor};
pub use error::{ExportError, ImportError, Spot};
pub use export::{ExportCounts, ExportEntry, TraceExporter};
pub use foreign_format::{ForeignFormat, exportable, importable};
pub use import::{
    ImportCounts, ImportEntry, ImportOptions, LeftOut, OpenedImport, Taken, TraceImporter,
};
pub use lackey::{LackeyCounts, LackeyError, LackeyReader, LackeyReason, looks_like_lackey};
pub use source::{ImportMeter, ImportSource};

broadleaf_units::catalogue! {
    /// All foreign formats. Command-line names, help, `list formats`, the book's page, the fuzz
    /// target and the contract tests follow from this list.
    pub static FOREIGN_FORMATS: ForeignFormat = [
        lackey::LACKEY,
        drmemtrace::DRMEMTRACE,
        champsim::CHAMPSIM,
        dinero::DINERO,
        csv::CSV,
        parquet::PARQUET,
        gem5::GEM5,
        perf::PERF,
    ];
}
