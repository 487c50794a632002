//! Shared test code of the policies.

use crate::{Coverage, Needs, Point, Refusal, Verdict, View};
use broadleaf_units::BackingKind;

/// A covered, writable, anonymous block with a new reservation and nothing in it.
pub(crate) const RESERVED: View = View {
    reservation_age: Some(0),
    ..View::BLANK
};

/// The verdict of the catalogue's policy with this name.
pub(crate) fn decide(name: &str, point: Point, view: View) -> Verdict {
    crate::parse(name)
        .unwrap_or_else(|error| panic!("{error}"))
        .decide(point, &view)
}

/// The requirements of the catalogue's policy with this name.
pub(crate) fn needs(name: &str) -> Needs {
    crate::parse(name)
        .unwrap_or_else(|error| panic!("{error}"))
        .needs()
}

/// Asserts the refusals of a policy for anonymous memory that do not depend on pages, in the
/// documented order. The policy promotes `view`.
pub(crate) fn refuses_by_kind(name: &str, point: Point, view: View) {
    let mut worst = View {
        backing: BackingKind::File,
        advised_against: true,
        coverage: Coverage::NotCovered,
        ..view
    };
    let mut expect = |refusal: Refusal, cure: fn(&mut View)| {
        assert_eq!(decide(name, point, worst), Verdict::Stay(refusal), "{name}");
        cure(&mut worst);
    };
    expect(Refusal::FileBacked, |view| {
        view.backing = BackingKind::SharedMemory;
    });
    expect(Refusal::SharedMemory, |view| {
        view.backing = BackingKind::Anonymous;
    });
    expect(Refusal::AdvisedAgainst, |view| view.advised_against = false);
    expect(Refusal::NotCovered, |view| {
        view.coverage = Coverage::MixedProtection;
    });
    expect(Refusal::MixedProtection, |view| {
        view.coverage = Coverage::Covered;
    });
    assert_eq!(decide(name, point, view), Verdict::Promote, "{name}");
    assert_eq!(decide(name, point, worst), Verdict::Promote, "{name}");
}
