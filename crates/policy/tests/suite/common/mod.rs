//! Shared code of the catalogue's tests: policies and views.

// Each test uses a part of this module.
#![allow(dead_code)]

use broadleaf_policy::{
    Coverage, FORM, Parameter, ParameterKind, ParameterValue, ParseError, Point, Policy,
    PolicyEntry, View, all_examples, catalogue, parse,
};
use broadleaf_units::BackingKind;

/// A selection of states of a block.
fn blocks() -> Vec<View> {
    let mut blocks = Vec::new();
    for (pages, populated, dirty) in [
        (512, 1, 0),
        (512, 1, 1),
        (512, 63, 63),
        (512, 64, 0),
        (512, 64, 64),
        (512, 256, 100),
        (512, 511, 511),
        (512, 512, 0),
        (512, 512, 100),
        (512, 512, 512),
        (16, 1, 1),
        (16, 16, 0),
        (16, 16, 16),
    ] {
        for reservation_age in [None, Some(0), Some(999_999), Some(u64::MAX)] {
            for promoted in [false, true] {
                blocks.push(View {
                    pages,
                    populated,
                    dirty,
                    reservation_age,
                    promoted,
                    ..View::BLANK
                });
            }
        }
    }
    blocks
}

/// The views of a block by a host with limited memory.
fn in_limited_memory(block: View) -> [View; 9] {
    let full = block.populated == block.pages;
    [
        block,
        View {
            referenced: block.populated,
            referenced_on_average: 16 * block.populated,
            shared: block.populated / 2,
            ..block
        },
        View {
            swapped: block.pages - block.populated,
            referenced: 1,
            referenced_on_average: 1,
            ..block
        },
        View {
            zero: block.populated - block.dirty,
            memory_short: true,
            ..block
        },
        View {
            extent_free: false,
            memory_short: true,
            advised_for: true,
            referenced: block.populated,
            ..block
        },
        // Charges: a few, enough to pay for a superpage, and enough for any limit.
        View {
            misses: 2,
            prefetch_charge: 1,
            miss_cycles: 30,
            copy_cycles: 100_000,
            ..block
        },
        View {
            misses: 3000,
            prefetch_charge: 2500,
            miss_cycles: 30,
            copy_cycles: 100_000,
            ..block
        },
        View {
            capacity_charge: 2_500_000,
            miss_cycles: 30,
            copy_cycles: 100_000,
            ..block
        },
        View {
            zero: if full { block.pages - 1 } else { 0 },
            advised_for: true,
            referenced: 1,
            ..block
        },
    ]
}

/// A selection of views over all fields.
pub(crate) fn views() -> Vec<View> {
    let mut views = Vec::new();
    for block in blocks().into_iter().flat_map(in_limited_memory) {
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
                for flags in 0..8 {
                    views.push(View {
                        coverage,
                        backing,
                        writable: flags & 1 != 0,
                        advised_against: flags & 2 != 0,
                        foreseen: flags & 4 != 0,
                        ..block
                    });
                }
            }
        }
    }
    views
}

/// The points at which a host asks the policy about this block.
pub(crate) fn points(policy: &dyn Policy, view: &View) -> Vec<Point> {
    let needs = policy.needs();
    let of_superpages = [Point::StoreToCleanSuperpage, Point::Short, Point::Freed];
    let all = Point::ALL.iter().copied();
    all.filter(|point| point.is_asked_of(&needs))
        .filter(|point| view.promoted || !of_superpages.contains(point))
        .collect()
}

/// Values of a parameter: the ends of a number's range, all words, some sets of sizes.
pub(crate) fn values(parameter: &Parameter) -> Vec<String> {
    match parameter.kind {
        ParameterKind::Number { least, most, .. } => [least, most]
            .map(|number| ParameterValue::Number(number).written())
            .to_vec(),
        ParameterKind::Word(words) => words.iter().map(|word| (*word).to_owned()).collect(),
        ParameterKind::Shares => ["1", "1/64", "1/4+1/2+1/8+1/8"].map(str::to_owned).to_vec(),
        ParameterKind::Sizes => ["all", "none", "2m", "64k+2m"].map(str::to_owned).to_vec(),
    }
}

/// The value of a parameter, after the value of another one without which it has no effect.
pub(crate) fn with_others(parameter: &Parameter, value: &str) -> Vec<(&'static str, String)> {
    let is_default = parameter.default.map(|default| default.written());
    let others = parameter.only_with.first();
    let others = others.filter(|_| is_default.as_deref() != Some(value));
    let mut given: Vec<(&str, String)> = others
        .map(|(other, value)| (*other, (*value).to_owned()))
        .into_iter()
        .collect();
    given.push((parameter.name, value.to_owned()));
    given
}

/// The policy of an entry with these values.
pub(crate) fn policy_with(
    entry: &PolicyEntry,
    given: &[(&str, String)],
) -> Result<Box<dyn Policy>, ParseError> {
    let given: Vec<(&str, &str)> = given.iter().map(|(name, text)| (*name, &**text)).collect();
    entry.with(&given)
}

/// The catalogue's policies: the examples, policies with each parameter at its ends, and
/// expressions.
pub(crate) fn every_policy() -> Vec<Box<dyn Policy>> {
    let mut policies = all_examples().unwrap();
    for expression in FORM.examples {
        policies.push(parse(expression).unwrap());
    }
    for option in FORM.options {
        for value in values(option) {
            let text = format!("promote({}={value}) if populated >= 64", option.name);
            policies.push(parse(&text).unwrap());
        }
    }
    for entry in catalogue() {
        for parameter in entry.parameters {
            for value in values(parameter) {
                let given = with_others(parameter, &value);
                policies.push(policy_with(entry, &given).unwrap());
            }
        }
    }
    policies.sort_by_key(|policy| policy.name());
    policies.dedup_by_key(|policy| policy.name());
    policies
}

/// Returns true if a host would notice a difference between two policies.
pub(crate) fn differ(one: &dyn Policy, other: &dyn Policy, views: &[View]) -> bool {
    let answers = |policy: &dyn Policy, point: Point, view: &View| {
        (
            policy.decide(point, view),
            policy.effort(point, view),
            policy.rank(view),
        )
    };
    one.needs() != other.needs()
        || (views.iter()).any(|view| {
            (Point::ALL.iter())
                .any(|point| answers(one, *point, view) != answers(other, *point, view))
        })
}
