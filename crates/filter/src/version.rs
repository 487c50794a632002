//! The version of the filter.

use broadleaf_units::Geometry;

/// The version of the filter. Increase it if a form of the version before may give other counts: if
/// the filter now keeps a visit that it left out wrongly. A filter that only leaves out more visits
/// has the same version. A reduced form of another version is not used without asking.
const FILTER_VERSION: u32 = 1;

/// A description of the filter: all that a reduced form relies on, apart from the first levels of
/// its machines ([`crate::Family`]).
pub fn filter_in_words() -> String {
    format!(
        "filter {FILTER_VERSION}, pages of {} and {}, exact LRU",
        Geometry::X86_64.base().short_name(),
        Geometry::X86_64.superpage().short_name()
    )
}
