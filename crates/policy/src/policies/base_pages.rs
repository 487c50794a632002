//! `4k`: no superpages.

use crate::{Point, Policy, PolicyEntry, Verdict, View};
use alloc::boxed::Box;
use alloc::string::String;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "4k",
    syntax: "4k",
    summary: "base pages only",
    explanation: "Never promotes. The policy is the baseline for the savings of the others, in \
                  page faults and in TLB misses, and never holds a page that the program did not \
                  touch.",
    source: "Zhu 2018, chapter 5 (4K-user)",
    parameters: &[],
    examples: &["4k"],
    by_default: true,
    build: |_| Box::new(BasePages),
};

struct BasePages;

impl Policy for BasePages {
    fn name(&self) -> String {
        String::from(ENTRY.name)
    }

    fn promotes(&self) -> bool {
        false
    }

    fn decide(&self, _: Point, _: &View) -> Verdict {
        Verdict::Pass
    }
}
