//! What every policy of the catalogue has to keep, whoever wrote it.

use broadleaf_policy::{
    BackingKind, Coverage, Point, Policy, Verdict, View, catalogue, examples, parse,
};

/// A spread of views over every field.
fn views() -> Vec<View> {
    let mut views = Vec::new();
    for (populated, dirty) in [
        (1, 0),
        (1, 1),
        (63, 63),
        (64, 0),
        (64, 64),
        (256, 100),
        (511, 511),
        (512, 0),
        (512, 512),
    ] {
        for reservation_age in [None, Some(0), Some(999_999), Some(u64::MAX)] {
            for coverage in [
                Coverage::Covered,
                Coverage::NotCovered,
                Coverage::MixedProtection,
            ] {
                for backing in [
                    BackingKind::Anonymous,
                    BackingKind::SharedMemory,
                    BackingKind::File,
                ] {
                    for flags in 0..16 {
                        views.push(View {
                            populated,
                            dirty,
                            reservation_age,
                            coverage,
                            backing,
                            promoted: flags & 1 != 0,
                            writable: flags & 2 != 0,
                            advised_against: flags & 4 != 0,
                            foreseen: flags & 8 != 0,
                            ..View::BLANK
                        });
                    }
                }
            }
        }
    }
    views
}

fn every_policy() -> Vec<Box<dyn Policy>> {
    let names = catalogue().iter().flat_map(|entry| entry.examples);
    names.map(|name| parse(name).unwrap()).collect()
}

#[test]
fn names_round_trip() {
    for entry in catalogue() {
        for example in entry.examples {
            assert_eq!(parse(example).unwrap().name(), *example);
        }
        if let Some(parameter) = entry.parameter {
            for value in [parameter.least, parameter.most] {
                let name = entry.with(Some(value)).unwrap().name();
                assert_eq!(parse(&name).unwrap().name(), name);
            }
        }
    }
}

#[test]
fn entries_explain_themselves() {
    for entry in catalogue() {
        assert!(
            !entry.summary.is_empty() && !entry.summary.contains('\n'),
            "{}",
            entry.name
        );
        assert!(
            entry.explanation.ends_with('.') && entry.explanation.len() > entry.summary.len(),
            "{}",
            entry.name
        );
        assert!(!entry.explanation.contains("  "), "{}", entry.name);
        assert!(!entry.source.is_empty(), "{}", entry.name);
        assert!(entry.syntax.starts_with(entry.name), "{}", entry.name);
        assert!(!entry.examples.is_empty(), "{}", entry.name);
        assert!(
            catalogue()
                .iter()
                .filter(|other| other.name == entry.name)
                .count()
                == 1,
            "{}",
            entry.name
        );
    }
}

#[test]
fn answers_depend_on_nothing_but_point_and_view() {
    for policy in every_policy() {
        let again = parse(&policy.name()).unwrap();
        assert_eq!(policy.needs(), again.needs());
        for view in views() {
            for point in Point::ALL {
                let verdict = policy.decide(*point, &view);
                assert_eq!(verdict, policy.decide(*point, &view), "{}", policy.name());
                assert_eq!(verdict, again.decide(*point, &view), "{}", policy.name());
            }
        }
    }
}

#[test]
fn only_superpages_are_demoted_and_only_other_blocks_promoted() {
    for policy in every_policy() {
        for view in views() {
            for point in Point::ALL {
                match policy.decide(*point, &view) {
                    Verdict::Promote | Verdict::Stay(_) => {
                        assert!(!view.promoted, "{}", policy.name())
                    }
                    Verdict::Demote => {
                        assert!(view.promoted, "{}", policy.name());
                        assert_eq!(*point, Point::StoreToCleanSuperpage, "{}", policy.name());
                    }
                    Verdict::Pass => {}
                }
            }
        }
    }
}

#[test]
fn a_block_that_could_never_be_reserved_is_never_promoted() {
    for policy in every_policy() {
        for view in views() {
            if view.reservation_age.is_none() && view.coverage != Coverage::Covered {
                for point in Point::ALL {
                    assert_ne!(
                        policy.decide(*point, &view),
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
fn what_is_foreseen_is_in_the_catalogue_and_needs_no_foresight_itself() {
    for policy in every_policy() {
        if let Some(name) = policy.needs().foresight_of {
            assert_eq!(parse(name).unwrap().needs().foresight_of, None);
        }
    }
}

#[test]
fn what_is_ready_to_use_is_zhu_s_eighteen_in_order_and_linux_s() {
    let names: Vec<String> = examples()
        .unwrap()
        .iter()
        .map(|policy| policy.name())
        .collect();
    assert_eq!(
        names.join(" "),
        "4k freebsd foresight greedy pop-64 pop-128 pop-256 pop-461 pop-509 dirty-64 dirty-128 dirty-256 dirty-461 \
         dirty-509 life-1e6 life-1e7 life-1e8 life-1e9 thp-always"
    );
}
