//! The rules that every policy of the catalogue keeps.

use crate::common::{differ, every_policy, points, views};
use broadleaf_policy::{
    Copies, Coverage, Effort, Foresight, Placement, Point, Refusal, Verdict, View, parse,
};
use broadleaf_units::SizeSet;

#[test]
fn answers_depend_on_nothing_but_point_and_view() {
    let views = views();
    for policy in every_policy() {
        let again = parse(&policy.name()).unwrap();
        assert!(
            !differ(policy.as_ref(), again.as_ref(), &views),
            "{}",
            policy.name()
        );
    }
}

#[test]
fn only_superpages_are_demoted_and_only_other_blocks_promoted() {
    let views = views();
    for policy in every_policy() {
        for view in &views {
            for point in points(policy.as_ref(), view) {
                match policy.decide(point, view) {
                    Verdict::Promote | Verdict::Stay(_) => {
                        assert!(!view.promoted, "{}", policy.name());
                        let made = [
                            Point::Fault,
                            Point::FirstStore,
                            Point::Due,
                            Point::Scan,
                            Point::UsedAgain,
                            Point::Miss,
                        ];
                        assert!(made.contains(&point), "{}", policy.name());
                    }
                    Verdict::Demote => {
                        assert!(view.promoted, "{}", policy.name());
                        let broken = [
                            Point::StoreToCleanSuperpage,
                            Point::Short,
                            Point::Freed,
                            Point::Scan,
                        ];
                        assert!(broken.contains(&point), "{}", policy.name());
                    }
                    Verdict::Pass => {}
                }
            }
        }
    }
}

#[test]
fn a_block_that_could_never_be_reserved_is_never_promoted() {
    let views = views();
    for policy in every_policy() {
        for view in &views {
            if view.reservation_age.is_none() && view.coverage != Coverage::Covered {
                for point in points(policy.as_ref(), view) {
                    assert_ne!(
                        policy.decide(point, view),
                        Verdict::Promote,
                        "{}",
                        policy.name()
                    );
                }
            }
        }
    }
}

#[test]
fn a_policy_with_frames_passes_at_points_it_did_not_request() {
    let views = views();
    for policy in every_policy() {
        let needs = policy.needs();
        if !needs.needs_frames() {
            continue;
        }
        for point in Point::ALL.iter().filter(|point| !point.is_asked_of(&needs)) {
            for view in &views {
                assert_eq!(
                    policy.decide(*point, view),
                    Verdict::Pass,
                    "{}",
                    policy.name()
                );
            }
        }
    }
}

#[test]
fn needs_make_sense() {
    for policy in every_policy() {
        let (needs, name) = (policy.needs(), policy.name());
        // A round visits something, sooner or later.
        assert!(needs.scan.is_none_or(|scan| scan.period > 0), "{name}");
        assert_ne!(needs.asked_at_age, Some(0), "{name}");
        // Without reservations, a daemon must copy pages together.
        if needs.placement == Placement::AtFault && needs.scan.is_some() {
            assert!(needs.copies != Copies::Never, "{name}");
        }
        // A policy without frames has one size and no effort.
        if !needs.needs_frames() {
            assert_eq!(needs.sizes, SizeSet::Block, "{name}");
            for point in Point::ALL {
                assert_eq!(policy.effort(*point, &View::BLANK), Effort::None, "{name}");
            }
        }
    }
}

#[test]
fn every_refusal_of_policies_is_reached() {
    let views = views();
    let mut reached = Vec::new();
    for policy in every_policy() {
        for view in &views {
            for point in points(policy.as_ref(), view) {
                if let Verdict::Stay(refusal) = policy.decide(point, view)
                    && !reached.contains(&refusal)
                {
                    reached.push(refusal);
                }
            }
        }
    }
    // Only a host gives these refusals.
    let hosts = [
        Refusal::MemoryShort,
        Refusal::NotInPlace,
        // Only hosts of live processes give these refusals.
        Refusal::OverBudget,
        Refusal::SplitByProgram,
        Refusal::BackingOff,
        Refusal::Changed,
        Refusal::Busy,
        Refusal::NotCollapsible,
        Refusal::NoCharge,
        Refusal::Incongruent,
        Refusal::Userfaultfd,
        Refusal::StallTooLong,
        Refusal::Unreachable,
    ];
    for refusal in Refusal::ALL {
        assert_eq!(
            !reached.contains(refusal),
            hosts.contains(refusal),
            "{refusal}"
        );
    }
}

#[test]
fn foreseen_policies_are_in_the_catalogue_and_need_no_foresight() {
    for policy in every_policy() {
        if let Some(name) = policy.needs().foresight.policy() {
            let foreseen = parse(name).unwrap().needs().foresight;
            assert_eq!(foreseen, Foresight::None);
        }
    }
}
