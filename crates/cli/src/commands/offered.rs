//! Names of the catalogues, for shells that complete an argument.

use broadleaf_metrics::all_metrics;
use broadleaf_policy::{Refusal, catalogue};
use broadleaf_report::{HEADINGS, LIVE_HEADINGS, RANGE_HEADINGS};
use broadleaf_translation::{PAGE_TABLES, TLBS, machine_names};
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};

use broadleaf_study::catalogues::{ADVICE_FORMATS, FORMATS};
use broadleaf_study::papers::PAPERS;

/// A parser that takes any text, and offers names to shells. There are more names than can be
/// listed, such as `pop-77` or a machine's file. The command itself refuses names that are wrong.
#[derive(Clone, Debug)]
pub(crate) struct Offered(Vec<&'static str>);

/// Names of policies.
pub(crate) fn policies() -> Offered {
    Offered(policy_names().collect())
}

/// Names of machines.
pub(crate) fn machines() -> Offered {
    Offered(machine_names().collect())
}

/// Names of papers.
pub(crate) fn papers() -> Offered {
    Offered(PAPERS.iter().map(|paper| paper.name).collect())
}

/// Names of everything that can be explained.
pub(crate) fn everything() -> Offered {
    let mut names: Vec<&str> = policy_names()
        .chain(machine_names())
        .chain(all_metrics().map(|metric| metric.name))
        .chain(Refusal::ALL.iter().map(|refusal| refusal.name()))
        .chain(TLBS.iter().chain(PAGE_TABLES).map(|entry| entry.name))
        .chain(
            FORMATS
                .iter()
                .chain(ADVICE_FORMATS)
                .map(|format| format.name),
        )
        .collect();
    // Scripts for shells write a blank inside a name in different ways.
    for heading in (HEADINGS.iter())
        .chain(RANGE_HEADINGS)
        .chain(LIVE_HEADINGS)
        .filter(|heading| !heading.name.contains(' '))
    {
        if !names.contains(&heading.name) {
            names.push(heading.name);
        }
    }
    Offered(names)
}

fn policy_names() -> impl Iterator<Item = &'static str> {
    let names = catalogue().iter().flat_map(|entry| entry.examples).copied();
    // Brackets mean something else to shells, and not all scripts quote them.
    names.filter(|name| !name.contains('('))
}

impl TypedValueParser for Offered {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().copied().map(PossibleValue::new)))
    }
}
