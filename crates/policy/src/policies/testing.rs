//! What the tests of all policies share.

use crate::{BackingKind, Coverage, Point, Verdict, View};

/// A covered, writable, anonymous block with a new reservation and nothing in it.
pub(crate) const RESERVED: View = View {
    populated: 0,
    dirty: 0,
    pages: 512,
    reservation_age: Some(0),
    promoted: false,
    coverage: Coverage::Covered,
    backing: BackingKind::Anonymous,
    writable: true,
    advised_against: false,
    foreseen: false,
};

/// What the catalogue's policy of that name answers.
pub(crate) fn decide(name: &str, point: Point, view: View) -> Verdict {
    crate::parse(name)
        .unwrap_or_else(|error| panic!("{error}"))
        .decide(point, &view)
}
