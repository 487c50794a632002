//! Traces of other tools: imported to a recording of ours, and exported from it.

mod export;
mod import;

pub use export::{ExportRequest, export};
pub use import::{ImportRequest, import};
