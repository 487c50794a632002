//! `guest`: the page sizes of a recorded system's own kernel.

use crate::{Beyond, Needs, Point, Policy, PolicyEntry, Verdict, View};
use alloc::boxed::Box;
use alloc::string::String;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "guest",
    syntax: "guest",
    summary: "the page sizes that the recorded system's own kernel mapped",
    explanation: "Maps each page as the page tables of a recorded system did, in recordings of \
                  `record --engine qemu-system`. Promotions and demotions are those of that \
                  kernel, and page faults are those that it handled. In other traces the policy \
                  is `4k`.",
    source: "recordings of whole systems (Zhu 2018, section 3.2)",
    parameters: &[],
    examples: &["guest"],
    by_default: false,
    build: |_| Box::new(GuestSizes),
};

struct GuestSizes;

impl Policy for GuestSizes {
    fn name(&self) -> String {
        String::from(ENTRY.name)
    }

    fn needs(&self) -> Needs {
        Needs {
            recorded_sizes: true,
            beyond_looking: Some(Beyond::Recording),
            ..Needs::default()
        }
    }

    fn decide(&self, _: Point, _: &View) -> Verdict {
        Verdict::Pass
    }
}
