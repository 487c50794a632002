//! `4k`: no superpages.

use crate::{Entry, Point, Policy, Verdict, View};
use alloc::boxed::Box;
use alloc::string::String;

pub(crate) const ENTRY: Entry = Entry {
    name: "4k",
    syntax: "4k",
    summary: "base pages only",
    explanation: "Never promotes. What the others save, in page faults and in TLB misses, is measured against it, and it \
                  never holds a page that the program did not touch.",
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
