//! The version of the filter.

use broadleaf_units::Geometry;

/// The version of the filter. It changes with every change to which visits are left out. A reduced
/// form that another version wrote is not used without asking.
const FILTER_VERSION: u32 = 1;

/// The filter in words: all that a reduced form relies on, beside the first levels of its machines
/// ([`crate::Family`]).
pub fn filter_in_words() -> String {
    format!(
        "filter {FILTER_VERSION}, pages of {} and {}, exact LRU",
        Geometry::X86_64.base().short_name(),
        Geometry::X86_64.superpage().short_name()
    )
}
