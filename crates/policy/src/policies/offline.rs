//! `offline`: the promotions that pay, for a policy with knowledge of the whole trace.

use crate::parameter::GivenParameters;
use crate::{
    Copies, Cycles, Foresight, Needs, OfflineSearch, Parameter, Placement, Point, Policy,
    PolicyEntry, Refusal, Verdict, View,
};
use alloc::boxed::Box;
use alloc::string::String;
use broadleaf_units::SizeSet;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "offline",
    syntax: "offline(...)",
    summary: "promote the superpages that pay over the whole trace: a bound for the other policies",
    explanation: "The policy reads the whole trace first. Each piece has lives: a life begins when \
                  one mapping covers the piece, and ends when the program takes part of the piece \
                  away. \
                  The policy counts the misses that a superpage would spare in each life, and \
                  compares them with the price of a promotion. It chooses the lives that are worth \
                  the price, counts the \
                  misses that are left, and repeats this until no life is worth its price. It also \
                  tries all used pieces of one size together, since some pieces gain only \
                  together. So a promotion may \
                  begin late, and a broken piece need not be promoted again. If a policy of the \
                  same comparison takes fewer cycles, offline makes the promotions of that policy: \
                  it is never worse \
                  than a policy that it is compared with. No kernel knows the future. The choice \
                  is good, and not proved to be the best. In limited memory offline is a bound \
                  only for the policies compared.",
    source: "Romer 1995, section 7.1 (OFFLINE)",
    parameters: &[
        Parameter::word(
            "cycles",
            &["tlb", "all"],
            "tlb",
            "The cycles to minimise: those of walks and promotions, each promotion at its full \
             price, as Romer counted; or all of walks, faults and promotions, where a superpage \
             also spares faults.",
        ),
        Parameter::word(
            "step",
            &["many", "one"],
            "many",
            "The number of pieces chosen before the remaining misses are counted again: many; or \
             the best one alone, as Romer did, which takes long.",
        ),
        Parameter::sizes(
            "sizes",
            SizeSet::All,
            "The superpage sizes in use, of those that the machine has.",
        ),
    ],
    examples: &["offline", "offline(cycles=all)"],
    by_default: false,
    build: |given| Box::new(Offline { given }),
};

struct Offline {
    given: GivenParameters,
}

impl Policy for Offline {
    fn name(&self) -> String {
        self.given.name()
    }

    fn needs(&self) -> Needs {
        let cycles = match self.given.word("cycles") {
            "all" => Cycles::All,
            _ => Cycles::Tlb,
        };
        Needs {
            foresight: Foresight::Cheapest(OfflineSearch {
                cycles,
                one_by_one: self.given.word("step") == "one",
            }),
            placement: Placement::AtFault,
            copies: match cycles {
                Cycles::Tlb => Copies::Always,
                Cycles::All => Copies::Scattered,
            },
            sizes: self.given.sizes("sizes"),
            ..Needs::default()
        }
    }

    fn decide(&self, point: Point, view: &View) -> Verdict {
        if !matches!(point, Point::Fault | Point::Miss) || view.promoted {
            return Verdict::Pass;
        }
        match view.coverage.refusal() {
            _ if !view.foreseen => Verdict::Stay(Refusal::NotForeseen),
            Some(reason) => Verdict::Stay(reason),
            None => Verdict::Promote,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::policies::testing::{decide, needs};
    use crate::{
        Copies, Coverage, Cycles, Foresight, OfflineSearch, Point, Refusal, Verdict, View,
    };

    #[test]
    fn promotes_foreseen_pieces_under_one_mapping() {
        let foreseen = View {
            foreseen: true,
            ..View::BLANK
        };
        let decided = |view| decide("offline", Point::Fault, view);
        assert_eq!(decided(foreseen), Verdict::Promote);
        let other = Verdict::Stay(Refusal::NotForeseen);
        assert_eq!(decided(View::BLANK), other);
        let too_early = View {
            coverage: Coverage::NotCovered,
            ..foreseen
        };
        assert_eq!(decided(too_early), Verdict::Stay(Refusal::NotCovered));
        let already = View {
            promoted: true,
            ..foreseen
        };
        assert_eq!(decided(already), Verdict::Pass);
    }

    #[test]
    fn parameters_choose_the_search() {
        let search = |cycles, one_by_one| Foresight::Cheapest(OfflineSearch { cycles, one_by_one });
        let romer = needs("offline");
        assert_eq!(romer.foresight, search(Cycles::Tlb, false));
        assert!(romer.copies == Copies::Always && romer.needs_frames());
        let all = needs("offline(cycles=all,step=one)");
        assert_eq!(all.foresight, search(Cycles::All, true));
        assert_eq!(all.copies, Copies::Scattered);
    }
}
