//! `foresight`: promote at once the blocks that `freebsd` promotes later.

use super::freebsd;
use crate::{Needs, Point, Policy, PolicyEntry, Refusal, Verdict, View};
use alloc::boxed::Box;
use alloc::string::String;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "foresight",
    syntax: "foresight",
    summary: "promote at first touch the blocks that freebsd promotes at any time",
    explanation: "A block becomes a superpage at its first touch if freebsd promotes it at least \
                  once in the same trace. The policy needs the future, so no kernel can implement \
                  it. It bounds the gain of better timing alone, without filling memory that the \
                  program did not ask for.",
    source: "Zhu 2018, chapter 5 (foresight)",
    parameters: &[],
    examples: &["foresight"],
    by_default: true,
    build: |_| Box::new(ForesightPolicy),
};

struct ForesightPolicy;

impl Policy for ForesightPolicy {
    fn name(&self) -> String {
        String::from(ENTRY.name)
    }

    fn needs(&self) -> Needs {
        Needs {
            foresight: crate::Foresight::Of(freebsd::ENTRY.name),
            ..Needs::default()
        }
    }

    fn decide(&self, point: Point, view: &View) -> Verdict {
        match view.reservation_to_decide_on(point) {
            Ok(_) => Verdict::promote_if(view.foreseen, Refusal::NotForeseen),
            Err(verdict) => verdict,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::policies::testing::{RESERVED, decide};
    use crate::{Point, Refusal, Verdict, View};

    #[test]
    fn promotes_what_is_foreseen() {
        let foreseen = View {
            foreseen: true,
            ..RESERVED
        };
        assert_eq!(
            decide("foresight", Point::Fault, foreseen),
            Verdict::Promote
        );
        assert_eq!(
            decide("foresight", Point::Fault, RESERVED),
            Verdict::Stay(Refusal::NotForeseen)
        );
    }
}
