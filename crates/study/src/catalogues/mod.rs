//! The catalogues, for `list` and `explain`.

mod areas;
mod explain;
mod expressions;
mod formats;
mod list;
mod machines;
mod names;
mod next;
mod support;
mod terms;

pub use areas::areas;
pub use explain::explain;
pub use formats::{ADVICE_FORMATS, FORMATS, FormatEntry};
pub use list::{CatalogueEntries, CatalogueName, entries};
pub use names::{explained_names, policy_names};
