//! `static`: a page size for each kind of memory, fixed when the first page is touched.

use super::placed::reserving;
use crate::parameter::GivenParameters;
use crate::{Needs, Parameter, Placement, Point, Policy, PolicyEntry, Refusal, Verdict, View};
use alloc::boxed::Box;
use alloc::string::String;
use broadleaf_units::{BackingKind, SizeSet};

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "static",
    syntax: "static(...)",
    summary: "use the page sizes that are set for each kind of memory",
    explanation: "The kind of memory decides the page size, once: the first reference to a block \
                  brings in all of it as one page of the largest size of its kind that fits. The \
                  heap and other anonymous memory get 64 KiB, files and shared memory the \
                  largest size that fits. Nothing is copied, promoted later or demoted by this \
                  policy. If no extent of a size is free, the block gets the next smaller size of \
                  its kind. Views of memory do not distinguish stacks from other anonymous \
                  memory, so stacks get the sizes of the heap.",
    source: "Talluri 1995, sections 6.1 (static assignment) and 6.2.6 (frameworks)",
    parameters: &[
        Parameter::sizes(
            "heap",
            SizeSet::These(1 << 16),
            "The page sizes of anonymous memory, of those that the machine has.",
        ),
        Parameter::sizes("files", SizeSet::All, "The page sizes of mapped files."),
        Parameter::sizes("shared", SizeSet::All, "The page sizes of shared memory."),
        Parameter::word(
            "framework",
            &["several", "one"],
            "several",
            "The page sizes that the kernel's data structures know. With several, a fault brings in \
             a whole page of its size. With one, faults bring in base pages at reserved places, \
             and the page table joins them when a block is complete.",
        ),
    ],
    examples: &[
        "static",
        "static(files=64k,shared=none)",
        "static(framework=one)",
    ],
    by_default: false,
    build: |given| Box::new(Static { given }),
};

struct Static {
    given: GivenParameters,
}

/// The sizes of both sets.
const fn both(one: SizeSet, other: SizeSet) -> SizeSet {
    match (one, other) {
        (SizeSet::These(one), SizeSet::These(other)) => SizeSet::These(one | other),
        (SizeSet::Block, SizeSet::Block) => SizeSet::Block,
        _ => SizeSet::All,
    }
}

impl Static {
    /// Returns true if the page table joins base pages, in a kernel that knows one page size.
    fn joins(&self) -> bool {
        self.given.word("framework") == "one"
    }
}

impl Policy for Static {
    fn name(&self) -> String {
        self.given.name()
    }

    fn needs(&self) -> Needs {
        let [heap, files, shared] = ["heap", "files", "shared"].map(|it| self.given.sizes(it));
        let sizes = both(heap, both(files, shared));
        if self.joins() {
            return Needs {
                // A size that is not set for a kind of memory is no reason to stop.
                every_size: true,
                ..reserving(sizes)
            };
        }
        Needs {
            placement: Placement::AtFault,
            sizes,
            ..Needs::default()
        }
    }

    fn decide(&self, point: Point, view: &View) -> Verdict {
        if point != Point::Fault || view.promoted {
            return Verdict::Pass;
        }
        let sizes = self.given.sizes(match view.backing {
            BackingKind::Anonymous => "heap",
            BackingKind::File => "files",
            BackingKind::SharedMemory => "shared",
        });
        if !sizes.holds(view.bytes().ilog2() as u8) {
            return Verdict::Pass;
        }
        match view.coverage.refusal() {
            Some(reason) => Verdict::Stay(reason),
            None if self.joins() => {
                Verdict::promote_if(view.has_percent(100), Refusal::TooFewResident)
            }
            None => Verdict::promote_if(view.was_empty(), Refusal::AlreadyPopulated),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::policies::testing::decide;
    use crate::{Point, Refusal, Verdict, View};
    use broadleaf_units::BackingKind;

    #[test]
    fn the_kind_of_memory_decides_the_size() {
        let first = |backing, pages| View {
            backing,
            pages,
            populated: 1,
            ..View::BLANK
        };
        let at = |policy, view| decide(policy, Point::Fault, view);
        let heap = BackingKind::Anonymous;
        assert_eq!(at("static", first(heap, 16)), Verdict::Promote);
        assert_eq!(at("static", first(heap, 512)), Verdict::Pass);
        let file = BackingKind::File;
        assert_eq!(at("static", first(file, 512)), Verdict::Promote);
        assert_eq!(at("static(files=64k)", first(file, 512)), Verdict::Pass);
        assert_eq!(at("static(files=none)", first(file, 16)), Verdict::Pass);
        let second = View {
            populated: 2,
            ..first(heap, 16)
        };
        let stays = Verdict::Stay(Refusal::AlreadyPopulated);
        assert_eq!(at("static", second), stays);
        let one = "static(framework=one)";
        let few = Verdict::Stay(Refusal::TooFewResident);
        assert_eq!(at(one, second), few);
        let full = View {
            populated: 16,
            ..first(heap, 16)
        };
        assert_eq!(at(one, full), Verdict::Promote);
        assert_eq!(at(one, first(heap, 512)), Verdict::Pass);
    }
}
