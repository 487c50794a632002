//! What the tests of all policies share.

use crate::{Point, Verdict, View};

/// A covered, writable, anonymous block with a new reservation and nothing in it.
pub(crate) const RESERVED: View = View {
    reservation_age: Some(0),
    ..View::BLANK
};

/// What the catalogue's policy of that name answers.
pub(crate) fn decide(name: &str, point: Point, view: View) -> Verdict {
    crate::parse(name)
        .unwrap_or_else(|error| panic!("{error}"))
        .decide(point, &view)
}
