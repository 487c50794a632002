//! Traces of other tools: imported to a recording of ours, read directly, and exported.

mod direct;
mod export;
mod import;

pub(crate) use direct::DirectTrace;
pub use export::{ExportRequest, export};
pub use import::{ImportRequest, import};
pub(crate) use import::{holds_samples, is_imported};
