//! `foxtrot`: reservations that become superpages at a share of pages, by the kind of memory.

use super::placed::reserving;
use crate::parameter::GivenParameters;
use crate::{Copies, Needs, Parameter, Point, Policy, PolicyEntry, Refusal, Verdict, View};
use alloc::boxed::Box;
use alloc::string::String;
use broadleaf_units::{BackingKind, SizeSet};

/// The values of `files`: where files lie.
const PLACES: &[&str] = &["local", "network"];
/// The values of `gather`.
const GATHER: &[&str] = &["no", "yes"];

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "foxtrot",
    syntax: "foxtrot(...)",
    summary: "promote a reserved block when a share of its pages is in memory, by kind of memory",
    explanation: "The first fault in a block reserves an aligned block of frames. The block \
                  becomes a superpage when enough of its pages were referenced: half of them for \
                  files on a local disk, three quarters for files on the network, all for the \
                  heap and other anonymous memory. The promotion fetches or zeroes the other \
                  pages. A block of which any page lies elsewhere stays in base pages. With \
                  gather=yes, such a block is copied into a free extent, which costs a copy of \
                  each resident page. If no extent is free, the block stays in base pages.",
    source: "Talluri 1995, chapter 6 (page-size assignment, gather, page reservation: Foxtrot)",
    parameters: &[
        Parameter::sizes(
            "size",
            SizeSet::These(1 << 16),
            "The superpage size, of those that the machine has.",
        ),
        Parameter::number(
            "local",
            "percent",
            (1, 100),
            50,
            "The share for files on a local disk.",
        ),
        Parameter::number(
            "network",
            "percent",
            (1, 100),
            75,
            "The share for files on the network.",
        ),
        Parameter::number(
            "heap",
            "percent",
            (1, 100),
            100,
            "The share for anonymous and shared memory.",
        ),
        Parameter::word(
            "files",
            PLACES,
            PLACES[0],
            "Where the files of the trace lie: a trace does not say so.",
        ),
        Parameter::word(
            "gather",
            GATHER,
            GATHER[0],
            "Whether a block whose pages lie apart is copied together when it reaches its share.",
        ),
    ],
    examples: &["foxtrot", "foxtrot(size=16k)", "foxtrot(gather=yes)"],
    by_default: false,
    build: |given| Box::new(Foxtrot { given }),
};

struct Foxtrot {
    given: GivenParameters,
}

impl Foxtrot {
    fn gathers(&self) -> bool {
        self.given.word("gather") == "yes"
    }
}

impl Policy for Foxtrot {
    fn name(&self) -> String {
        self.given.name()
    }

    fn needs(&self) -> Needs {
        Needs {
            copies: match self.gathers() {
                true => Copies::Scattered,
                false => Copies::Never,
            },
            gathers: self.gathers(),
            ..reserving(self.given.sizes("size"))
        }
    }

    fn decide(&self, point: Point, view: &View) -> Verdict {
        let share = match view.backing {
            BackingKind::File => self.given.number(match self.given.word("files") {
                "network" => "network",
                _ => "local",
            }),
            BackingKind::Anonymous | BackingKind::SharedMemory => self.given.number("heap"),
        };
        if point != Point::Fault {
            return Verdict::Pass;
        }
        let by_share = Verdict::promote_if(view.has_percent(share), Refusal::TooFewResident);
        match view.reservation_to_decide_on(point) {
            Ok(_) => by_share,
            // Copying needs no reservation, but the block must be one that could have had one.
            Err(Verdict::Stay(_)) if self.gathers() => {
                view.coverage.refusal().map_or(by_share, Verdict::Stay)
            }
            Err(verdict) => verdict,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::policies::testing::decide;
    use crate::{Coverage, Point, Refusal, Verdict, View};
    use broadleaf_units::BackingKind;

    #[test]
    fn files_need_a_part_of_their_pages_and_the_heap_needs_all() {
        let view = |backing, populated| View {
            backing,
            populated,
            pages: 16,
            reservation_age: Some(0),
            ..View::BLANK
        };
        let stays = Verdict::Stay(Refusal::TooFewResident);
        for (policy, backing, enough) in [
            ("foxtrot", BackingKind::File, 8),
            ("foxtrot(files=network)", BackingKind::File, 12),
            ("foxtrot", BackingKind::Anonymous, 16),
            ("foxtrot(heap=25)", BackingKind::Anonymous, 4),
        ] {
            let at = |populated| decide(policy, Point::Fault, view(backing, populated));
            assert_eq!(at(enough - 1), stays, "{policy}");
            assert_eq!(at(enough), Verdict::Promote, "{policy}");
        }
    }

    #[test]
    fn blocks_without_a_reservation_are_gathered_on_request() {
        let full = View {
            populated: 16,
            pages: 16,
            ..View::BLANK
        };
        let at = |policy, view| decide(policy, Point::Fault, view);
        let refused = Verdict::Stay(Refusal::NoReservation);
        assert_eq!(at("foxtrot", full), refused);
        assert_eq!(at("foxtrot(gather=yes)", full), Verdict::Promote);
        let edge = View {
            coverage: Coverage::NotCovered,
            ..full
        };
        let refused = Verdict::Stay(Refusal::NotCovered);
        assert_eq!(at("foxtrot(gather=yes)", edge), refused);
    }
}
