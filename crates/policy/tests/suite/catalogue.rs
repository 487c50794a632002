//! The catalogue's documentation of its policies, and the round trip of their names.

use crate::common::{differ, every_policy, policy_with, values, views, with_others};
use broadleaf_policy::{
    Parameter, ParameterKind, ParseError, Policy, PolicyEntry, all_examples, catalogue, examples,
    parse,
};

#[test]
fn names_round_trip() {
    for entry in catalogue() {
        for example in entry.examples {
            assert_eq!(parse(example).unwrap().name(), *example);
        }
    }
    for policy in every_policy() {
        let name = policy.name();
        let again = parse(&name).unwrap();
        assert_eq!(again.name(), name);
        assert_eq!(again.needs(), policy.needs(), "{name}");
    }
}

/// The name of an entry's policy with this parameter value. A single page size follows a dash;
/// other values are in brackets unless they are defaults.
fn named(entry: &PolicyEntry, parameter: &Parameter, value: &str) -> String {
    let is_one_size = parameter.kind == ParameterKind::Sizes
        && value.ends_with(['k', 'm'])
        && !value.contains('+');
    let default = parameter.default.map(|default| default.written());
    match entry.only() {
        Some(_) if is_one_size => format!("{}-{value}", entry.name),
        _ if default.as_deref() == Some(value) => entry.name.to_owned(),
        _ => format!("{}({}={value})", entry.name, parameter.name),
    }
}

#[test]
fn each_parameter_is_in_the_name_unless_it_is_the_default() {
    for entry in catalogue() {
        for parameter in entry.parameters {
            if parameter.default.is_none() {
                assert_eq!(entry.parameters.len(), 1, "{} is a family", entry.name);
                continue;
            }
            for value in values(parameter) {
                let given = with_others(parameter, &value);
                let name = policy_with(entry, &given).unwrap().name();
                match entry.with(&[(parameter.name, &value)]) {
                    Ok(policy) => assert_eq!(policy.name(), named(entry, parameter, &value)),
                    Err(ParseError::NoEffect { .. }) => {
                        let said = format!("{}={value}", parameter.name);
                        assert!(given.len() == 2 && name.contains(&said), "{name}");
                    }
                    Err(error) => panic!("{said}: {error}", said = parameter.name),
                }
            }
        }
        // All parameters at once, with the last value of each, in the order of the catalogue.
        let written: Vec<(&str, String)> = (entry.parameters.iter())
            .filter_map(|parameter| Some((parameter.name, values(parameter).pop()?)))
            .collect();
        let is_met = |parameter: &Parameter| {
            let mut others = parameter.only_with.iter();
            others.any(|(other, value)| written.contains(&(*other, (*value).to_owned())))
        };
        let apart = entry.parameters.iter().filter(|parameter| {
            let changes = parameter.default.is_some();
            changes && !parameter.only_with.is_empty() && !is_met(parameter)
        });
        let apart: Vec<&str> = apart.map(|parameter| parameter.name).collect();
        let given: Vec<(&str, &str)> = written
            .iter()
            .filter(|(name, _)| !apart.contains(name))
            .map(|(name, text)| (*name, &**text))
            .collect();
        let mut turned = given.clone();
        turned.reverse();
        let policy = entry.with(&given).unwrap();
        assert_eq!(policy.name(), entry.with(&turned).unwrap().name());
        assert_eq!(parse(&policy.name()).unwrap().name(), policy.name());
    }
}

#[test]
fn each_parameter_makes_a_difference() {
    let views = views();
    for entry in catalogue() {
        for parameter in entry.parameters {
            // Some parameters matter only beside another: nothing is shrunk unless max_ptes_none is
            // given.
            let others = (entry.parameters.iter()).filter(|other| other.name != parameter.name);
            let beside =
                others.flat_map(|other| values(other).into_iter().map(|value| (other.name, value)));
            let beside = std::iter::once(None).chain(beside.map(Some));
            let difference = |beside: Option<(&str, String)>| {
                let with = |value: &str| {
                    let mut given = vec![(parameter.name, value)];
                    given.extend(beside.iter().map(|(name, value)| (*name, &**value)));
                    // A value without an effect beside the other one is refused.
                    entry.with(&given).ok()
                };
                let policies = values(parameter)
                    .into_iter()
                    .filter_map(|value| with(&value));
                let policies: Vec<_> = policies.collect();
                let first = policies.first();
                policies.iter().skip(1).any(|policy| {
                    first.is_some_and(|first| differ(policy.as_ref(), first.as_ref(), &views))
                })
            };
            assert!(
                beside.into_iter().any(difference),
                "{} of {}",
                parameter.name,
                entry.name
            );
        }
    }
}

#[test]
fn parameters_explain_themselves() {
    for entry in catalogue() {
        for parameter in entry.parameters {
            let place = format!("{} of {}", parameter.name, entry.name);
            assert!(parameter.meaning.ends_with('.'), "{place}");
            assert!(!parameter.meaning.contains("  "), "{place}");
            assert!(!parameter.kind.in_words().is_empty(), "{place}");
            if let Some(default) = parameter.default {
                let default = default.written();
                let policy = entry.with(&[(parameter.name, &default)]).unwrap();
                assert_eq!(policy.name(), named(entry, parameter, &default), "{place}");
                let anyway = entry.with(&[]).unwrap();
                assert_eq!(policy.name(), anyway.name(), "{place}");
                assert_eq!(policy.needs(), anyway.needs(), "{place}");
            }
            let same = (entry.parameters.iter()).filter(|other| other.name == parameter.name);
            assert_eq!(same.count(), 1, "{place}");
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

/// The sections of Romer 1995 that describe each policy.
#[test]
fn romer_s_policies_cite_their_sections() {
    for (name, sections) in [
        ("asap", "section 7.4"),
        ("asap-4-64", "section 7.4"),
        ("online", "sections 6.1 (charges) and 7.2"),
    ] {
        let entry = broadleaf_policy::entry(name).unwrap();
        assert!(entry.source.contains(sections), "{name}: {}", entry.source);
    }
}

fn names(policies: Vec<Box<dyn Policy>>) -> String {
    let names: Vec<String> = policies.iter().map(|policy| policy.name()).collect();
    names.join(" ")
}

const NINETEEN: &str = "4k freebsd foresight greedy pop-64 pop-128 pop-256 pop-461 pop-509 \
                        dirty-64 dirty-128 dirty-256 dirty-461 \
                        dirty-509 life-1e6 life-1e7 life-1e8 life-1e9 thp-always";

#[test]
fn the_defaults_are_zhu_s_eighteen_in_order_and_linux_s() {
    assert_eq!(names(examples().unwrap()), NINETEEN);
    for policy in examples().unwrap() {
        assert!(!policy.needs().needs_frames(), "{}", policy.name());
    }
}

#[test]
fn the_other_policies_follow_the_default_ones_and_none_that_needs_frames_is_a_default() {
    let all = names(all_examples().unwrap());
    let others = all
        .strip_prefix(NINETEEN)
        .expect("the default ones come first");
    // A new policy needs no change here: only the order and the defaults are fixed.
    assert!(
        others.starts_with(" advice advice(counted=dirty) "),
        "{others}"
    );
    for entry in catalogue() {
        for example in entry.examples {
            let frames = parse(example).unwrap().needs().needs_frames();
            assert!(!(frames && entry.by_default), "{example}");
        }
    }
}
