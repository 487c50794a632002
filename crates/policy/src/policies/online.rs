//! `online` and `approx-online`: superpages that TLB misses have paid for.

use crate::parameter::GivenParameters;
use crate::{
    Charges, Copies, Needs, Parameter, Placement, Point, Policy, PolicyEntry, Refusal, Verdict,
    View,
};
use alloc::boxed::Box;
use alloc::string::String;
use broadleaf_units::SizeSet;

/// Romer's thresholds, in thousandths of the misses that cost as much as a promotion (1995, section
/// 7.2).
const PREFETCH: u64 = 125;
const CAPACITY: u64 = 625;

const PREFETCH_LIMIT: Parameter = Parameter::number(
    "prefetch",
    "thousandths of R",
    (0, 1_000_000),
    PREFETCH,
    "The prefetch charges that promote a piece, in thousandths of R. R is the number of misses \
     that cost as much as the promotion.",
);
const SIZES: Parameter = Parameter::sizes(
    "sizes",
    SizeSet::All,
    "The superpage sizes in use, of those that the machine has.",
);
const BY: Parameter = Parameter::word(
    "by",
    &["copying", "reserving"],
    "copying",
    "The source of contiguous memory: a promotion copies the piece together; or the first fault \
     reserves memory for it, and a promotion fills the missing pages.",
);
const IDLE: Parameter = Parameter::number(
    "idle_below",
    "cycles per thousand instructions",
    (0, 1_000_000),
    0,
    "The walk cycles per thousand instructions, since the trace began, below which nothing is \
     promoted.",
);

const DEFERRAL: Parameter = Parameter::number(
    "deferral",
    "misses",
    (0, 1_000_000),
    0,
    "The number of misses in a piece of the largest size after which pieces larger than 64 KiB are \
     charged for all of them; 0 charges at each miss. The paper uses the number that makes the \
     first promotion possible, 1600.",
);

const ADJUST: Parameter = Parameter::word(
    "adjust",
    &["yes", "no"],
    "yes",
    "Switch for experiments: removal of a promoted piece's charges from larger pieces.",
);

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "online",
    syntax: "online(...)",
    summary: "promote a piece when the TLB misses that it would have prevented, of either kind, \
              have paid for it",
    explanation: "Each TLB miss is charged to the pieces that would have prevented it as \
                  superpages. A piece that holds the missing page and another page in the TLB gets \
                  a prefetch charge. A piece that holds enough of the pages that pushed the \
                  missing one out gets a capacity charge. A piece whose charges of either kind \
                  exceed a part of its copying cost is promoted, smallest first. Then larger \
                  pieces that hold it lose its charges, and all capacity charges begin at zero. \
                  Waiting until the charges equal the cost would never cost more than twice the \
                  best choice for that one piece; Romer found that waiting less is better. The \
                  bookkeeping is dear: 2,600 cycles for each miss in software.",
    source: "Romer 1995, sections 6.1 (charges) and 7.2 (thresholds)",
    parameters: &[
        PREFETCH_LIMIT,
        Parameter::number(
            "capacity",
            "thousandths of R",
            (0, 1_000_000),
            CAPACITY,
            "The capacity charges that promote a piece, in thousandths of R.",
        ),
        SIZES,
        BY,
        IDLE,
        DEFERRAL,
        ADJUST,
        Parameter::word(
            "reset",
            &["yes", "no"],
            "yes",
            "Switch for experiments: a promotion sets the capacity charges of all pieces to zero.",
        ),
    ],
    examples: &["online"],
    by_default: false,
    build: |given| {
        Box::new(Online {
            prefetch: given.number("prefetch"),
            capacity: Some(given.number("capacity")),
            given,
        })
    },
};

pub(crate) const APPROXIMATE: PolicyEntry = PolicyEntry {
    name: "approx-online",
    syntax: "approx-online(...)",
    summary: "promote a piece when the prevented TLB misses of its own pages have paid for it",
    explanation: "The policy is online with prefetch charges alone, which take little more than \
                  counters: 130 cycles for each miss in software. A piece is promoted when its \
                  charges reach a part of its copying cost, and larger pieces that hold it lose as \
                  many. It is its authors' choice: nearly as good as online, and cheaper.",
    source: "Romer 1995, section 7.3 (APPROX-ONLINE) and appendix A",
    parameters: &[PREFETCH_LIMIT, SIZES, BY, IDLE, DEFERRAL, ADJUST],
    examples: &["approx-online"],
    by_default: false,
    build: |given| {
        Box::new(Online {
            prefetch: given.number("prefetch"),
            capacity: None,
            given,
        })
    },
};

struct Online {
    given: GivenParameters,
    prefetch: u64,
    /// The limit of capacity charges, if they count.
    capacity: Option<u64>,
}

/// The cost of the charges, and `limit` thousandths of a promotion, in one unit.
fn weighed(charge: u64, limit: u64, view: &View) -> (u128, u128) {
    let paid = u128::from(charge) * u128::from(view.miss_cycles) * 1000;
    (paid, u128::from(limit) * u128::from(view.copy_cycles))
}

impl Policy for Online {
    fn name(&self) -> String {
        self.given.name()
    }

    fn needs(&self) -> Needs {
        let copies = self.given.word("by") == "copying";
        Needs {
            placement: if copies {
                Placement::AtFault
            } else {
                Placement::Reserved
            },
            copies: if copies {
                Copies::Always
            } else {
                Copies::Never
            },
            sizes: self.given.sizes("sizes"),
            charges: Charges {
                prefetch: true,
                capacity: self.capacity.is_some(),
                ..Charges::NONE
            },
            idle_below: self.given.number("idle_below"),
            deferral: self.given.number("deferral") as u32,
            keeps_prefetch_charges: self.given.word("adjust") == "no",
            keeps_capacity_charges: self.capacity.is_some() && self.given.word("reset") == "no",
            ..Needs::default()
        }
    }

    fn decide(&self, point: Point, view: &View) -> Verdict {
        if point != Point::Miss || view.promoted {
            return Verdict::Pass;
        }
        if !self.may_be_due(view) {
            return Verdict::Stay(Refusal::TooFewMisses);
        }
        match view.coverage.refusal() {
            Some(reason) => Verdict::Stay(reason),
            None => Verdict::Promote,
        }
    }

    fn may_be_due(&self, charged: &View) -> bool {
        let (prefetched, worth) = weighed(charged.prefetch_charge, self.prefetch, charged);
        match self.capacity {
            // Prefetch and capacity charges must exceed their limits; approx-online's must reach
            // them.
            Some(limit) => {
                let (kept, worth_keeping) = weighed(charged.capacity_charge, limit, charged);
                prefetched > worth || kept > worth_keeping
            }
            None => prefetched >= worth,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::policies::testing::{decide, needs};
    use crate::{Charges, Copies, Placement, Point, Refusal, Verdict, View};

    /// A piece of `pages` base pages with these charges, on the paper's machine: 3,000 cycles to
    /// copy a KiB, 30 for a miss.
    fn charged(pages: u32, prefetch_charge: u64, capacity_charge: u64) -> View {
        View {
            pages,
            prefetch_charge,
            capacity_charge,
            miss_cycles: 30,
            copy_cycles: u64::from(pages) * 4 * 3000,
            ..View::BLANK
        }
    }

    #[test]
    fn the_papers_thresholds() {
        let too_few = Verdict::Stay(Refusal::TooFewMisses);
        // 8 KiB, 64 KiB, 128 KiB and 8 MiB.
        for (pages, limit) in [(2, 100), (16, 800), (32, 1600), (2048, 102_400)] {
            let at = |name, view| decide(name, Point::Miss, view);
            assert_eq!(at("approx-online", charged(pages, limit - 1, 0)), too_few);
            assert_eq!(
                at("approx-online", charged(pages, limit, 0)),
                Verdict::Promote
            );
            assert_eq!(at("online", charged(pages, limit, 5 * limit)), too_few);
            assert_eq!(at("online", charged(pages, limit + 1, 0)), Verdict::Promote);
            assert_eq!(
                at("online", charged(pages, 0, 5 * limit + 1)),
                Verdict::Promote
            );
            let only_prefetch = charged(pages, 0, u64::MAX);
            assert_eq!(at("approx-online", only_prefetch), too_few);
        }
    }

    #[test]
    fn needs_of_both_policies() {
        let prefetch = Charges {
            prefetch: true,
            ..Charges::NONE
        };
        let both = Charges {
            capacity: true,
            ..prefetch
        };
        assert_eq!(needs("online").charges, both);
        assert_eq!(needs("approx-online").charges, prefetch);
        let reserving = needs("approx-online(by=reserving,idle_below=50)");
        assert_eq!(
            (reserving.placement, reserving.copies, reserving.idle_below),
            (Placement::Reserved, Copies::Never, 50)
        );
        assert_eq!(needs("online").copies, Copies::Always);
        let elsewhere = decide("online", Point::Fault, charged(2, 1000, 0));
        assert_eq!(elsewhere, Verdict::Pass);
    }
}
