//! A made-up policy: promotes a reservation when a third of its base pages are populated.

use crate::{Point, Policy, PolicyEntry, Refusal, Verdict, View};
use alloc::boxed::Box;
use alloc::string::String;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "third",
    syntax: "third",
    summary: "promote when a third of the base pages of a reservation are populated",
    explanation: "A block becomes a superpage when at least a third of its base pages are \
                  resident. The promotion fills the others.",
    source: "the test of the recipes",
    parameters: &[],
    examples: &["third"],
    by_default: false,
    build: |_| Box::new(Third),
};

struct Third;

impl Policy for Third {
    fn name(&self) -> String {
        String::from(ENTRY.name)
    }

    fn decide(&self, point: Point, view: &View) -> Verdict {
        match view.reservation_to_decide_on(point) {
            Ok(_) => Verdict::promote_if(3 * view.populated >= view.pages, Refusal::TooFewResident),
            Err(verdict) => verdict,
        }
    }
}
