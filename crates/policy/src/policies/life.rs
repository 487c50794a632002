//! `life-X`: promote a reservation that has lived long enough.

use crate::written::write_number;
use crate::{
    Beyond, Needs, Parameter, ParameterKind, Point, Policy, PolicyEntry, Refusal, Verdict, View,
};
use alloc::boxed::Box;
use alloc::string::String;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "life",
    syntax: "life-X",
    summary: "promote a reservation X memory accesses after it was made",
    explanation: "A block becomes a superpage when X memory accesses, of the whole trace and not \
                  only to the block, have passed since its reservation. The policy keeps \
                  short-lived memory out of superpages, and nothing else: it fills long-lived \
                  sparse blocks as greedy does.",
    source: "Zhu 2018, chapter 5 (life-x); tables 6.2 and 6.5",
    parameters: &[Parameter {
        name: "x",
        kind: ParameterKind::Number {
            unit: "accesses",
            least: 1,
            most: 1_000_000_000_000_000_000,
        },
        default: None,
        meaning: "The age of a reservation that a promotion requires.",
        only_with: &[],
    }],
    examples: &["life-1e6", "life-1e7", "life-1e8", "life-1e9"],
    by_default: true,
    build: |given| {
        Box::new(LifePolicy {
            age: given.number("x"),
        })
    },
};

struct LifePolicy {
    age: u64,
}

impl Policy for LifePolicy {
    fn name(&self) -> String {
        alloc::format!("life-{}", write_number(self.age))
    }

    fn needs(&self) -> Needs {
        Needs {
            asked_at_age: Some(self.age),
            beyond_looking: Some(Beyond::Ages),
            ..Needs::default()
        }
    }

    fn decide(&self, point: Point, view: &View) -> Verdict {
        match view.reservation_to_decide_on(point) {
            Ok(age) => Verdict::promote_if(age >= self.age, Refusal::TooYoung),
            Err(verdict) => verdict,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::policies::testing::{RESERVED, decide};
    use crate::{Point, Refusal, Verdict, View};

    #[test]
    fn promotes_at_the_age_and_not_before() {
        let with = |age| View {
            reservation_age: Some(age),
            ..RESERVED
        };
        for point in [Point::Fault, Point::FirstStore, Point::Due] {
            assert_eq!(
                decide("life-1e6", point, with(999_999)),
                Verdict::Stay(Refusal::TooYoung)
            );
            assert_eq!(decide("life-1e6", point, with(1_000_000)), Verdict::Promote);
        }
        assert_eq!(
            crate::parse("life-1e6").unwrap().needs().asked_at_age,
            Some(1_000_000)
        );
    }
}
