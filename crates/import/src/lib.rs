//! Traces of other tools: importers and exporters, in one catalogue.
//!
//! An importer turns a foreign trace into visits and events, a batch at a time, from anything that
//! implements [`std::io::Read`]. An exporter does the reverse. Both hold buffers of a fixed size,
//! whatever the input says. [`CATALOGUE`] lists all formats. The crate knows nothing of memory,
//! TLBs or the engine.
#![forbid(unsafe_code)]

mod batch;
mod catalogue;
pub mod champsim;
mod compression;
pub mod drmemtrace;
mod error;
mod export;
mod fold;
mod import;
pub mod lackey;
mod records;
mod source;

pub use batch::ImportBatch;
pub use catalogue::{CATALOGUE, ForeignFormat, exportable, importable};
pub use compression::{Compression, Compressor};
pub use error::{ExportError, ImportError, Spot};
pub use export::{ExportCounts, ExportEntry, TraceExporter};
pub use fold::{DataAccess, Fold};
pub use import::{ImportCounts, ImportEntry, ImportOptions, LeftOut, OpenedImport, TraceImporter};
pub use source::{ImportMeter, ImportSource};
