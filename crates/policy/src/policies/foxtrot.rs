//! `foxtrot`: reservations that become superpages at a share of pages, by the kind of memory.

use super::objects::{COUNTERS, OBJECTS, READ_AROUND, VICTIMS, with_objects};
use super::placed::reserving;
use crate::parameter::GivenParameters;
use crate::{
    Copies, Needs, Parameter, Placement, Point, Policy, PolicyEntry, Refusal, StoreToShared,
    Verdict, View,
};
use alloc::boxed::Box;
use alloc::string::String;
use broadleaf_units::{BackingKind, SizeSet};

/// The values of `files`: where files lie.
const PLACES: &[&str] = &["local", "network"];
/// The values of switches, the default first.
const NO_YES: &[&str] = &["no", "yes"];
const YES_NO: &[&str] = &["yes", "no"];

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
                  each resident page. If no extent is free, the block stays in base pages. A page \
                  that was replaced does not count any more, so a block has to reach its share \
                  again. The other parameters are the alternatives that the source names.",
    source: "Talluri 1995, section 2.7 and chapter 6 (Foxtrot)",
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
        )
        .only_with(&[("files", "local")]),
        Parameter::number(
            "network",
            "percent",
            (1, 100),
            75,
            "The share for files on the network.",
        )
        .only_with(&[("files", "network")]),
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
            NO_YES,
            "no",
            "Whether a block whose pages lie apart is copied together when it reaches its share.",
        ),
        Parameter::word(
            "reserve",
            YES_NO,
            "yes",
            "Whether a first fault reserves a block. Without, pages get any frame, and a promotion \
             populates a new block and gathers the rest: gather=yes.",
        )
        .only_with(&[("gather", "yes")]),
        Parameter::word(
            "restart",
            &["complete", "early"],
            "complete",
            "When a program goes on that reached a share: when the superpage is complete, or at \
             once, in base pages until the rest has been fetched.",
        ),
        Parameter::number(
            "demote",
            "percent",
            (0, 100),
            0,
            "The share below which a referenced superpage is broken when memory is short.",
        ),
        OBJECTS,
        COUNTERS,
        READ_AROUND.only_with(&[("reserve", "yes")]),
        Parameter::word(
            "store",
            &["page", "superpage", "never"],
            "page",
            "What a store to a superpage copies that others map too: its page, after the superpage \
             was broken, or all of it. With never, a block that such a store may meet stays in \
             base pages: shared pages, and files that can be written.",
        ),
        VICTIMS,
    ],
    examples: &[
        "foxtrot",
        "foxtrot(size=16k)",
        "foxtrot(gather=yes)",
        "foxtrot(objects=shared,read_around=yes)",
    ],
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

/// Returns true if a store may copy a page of the block alone: others map a page, or the block is
/// of a file and can be written.
fn may_be_copied(view: &View) -> bool {
    view.shared > 0 || (view.backing == BackingKind::File && view.writable)
}

impl Policy for Foxtrot {
    fn name(&self) -> String {
        self.given.name()
    }

    fn needs(&self) -> Needs {
        let needs = Needs {
            copies: match self.gathers() {
                true => Copies::Scattered,
                false => Copies::Never,
            },
            gathers: self.gathers(),
            placement: match self.given.word("reserve") {
                "no" => Placement::AtFault,
                _ => Placement::Reserved,
            },
            early_restart: self.given.word("restart") == "early",
            asked_when_short: self.given.number("demote") > 0,
            store_to_shared: match self.given.word("store") {
                "superpage" => StoreToShared::Superpage,
                _ => StoreToShared::Page,
            },
            ..reserving(self.given.sizes("size"))
        };
        with_objects(&self.given, needs, self.given.word("files") == "network")
    }

    fn decide(&self, point: Point, view: &View) -> Verdict {
        let share = match view.backing {
            BackingKind::File => self.given.number(match self.given.word("files") {
                "network" => "network",
                _ => "local",
            }),
            BackingKind::Anonymous | BackingKind::SharedMemory => self.given.number("heap"),
        };
        if point == Point::Short {
            let least = self.given.number("demote") * u64::from(view.pages);
            let little = view.referenced > 0 && u64::from(view.referenced) * 100 < least;
            return Verdict::demote_if(view.promoted && little);
        }
        if point != Point::Fault {
            return Verdict::Pass;
        }
        if self.given.word("store") == "never" && !view.promoted && may_be_copied(view) {
            return Verdict::Stay(Refusal::TooManyShared);
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

    #[test]
    fn few_referenced_pages_demote_when_memory_is_short() {
        let short = |policy, referenced| {
            let view = View {
                populated: 16,
                pages: 16,
                referenced,
                promoted: true,
                ..View::BLANK
            };
            decide(policy, Point::Short, view)
        };
        // Five of sixteen pages are 31 percent.
        assert_eq!(short("foxtrot(demote=31)", 4), Verdict::Demote);
        assert_eq!(short("foxtrot(demote=31)", 5), Verdict::Pass);
        assert_eq!(short("foxtrot(demote=31)", 0), Verdict::Pass);
        assert_eq!(short("foxtrot", 1), Verdict::Pass);
    }

    #[test]
    fn blocks_that_stores_would_copy_can_be_left_alone() {
        let full = View {
            populated: 16,
            pages: 16,
            reservation_age: Some(1),
            ..View::BLANK
        };
        let shared = View { shared: 1, ..full };
        let data = View {
            backing: BackingKind::File,
            ..full
        };
        let text = View {
            writable: false,
            ..data
        };
        let at = |policy, view| decide(policy, Point::Fault, view);
        let stays = Verdict::Stay(Refusal::TooManyShared);
        for view in [shared, data] {
            assert_eq!(at("foxtrot", view), Verdict::Promote);
            assert_eq!(at("foxtrot(store=never)", view), stays);
        }
        for view in [full, text] {
            assert_eq!(at("foxtrot(store=never)", view), Verdict::Promote);
        }
    }
}
