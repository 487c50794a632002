//! The catalogues, for `list` and `explain`.

mod explain;
mod expressions;
mod formats;
mod list;

pub use explain::explain;
pub use formats::{ADVICE_FORMATS, FORMATS, FormatEntry};
pub use list::{CatalogueEntries, CatalogueName, entries};
