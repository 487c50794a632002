//! Names of the catalogues, offered to shells that complete an argument.

use broadleaf_machine::{machine_names, parts};
use broadleaf_metrics::all_metrics;
use broadleaf_policy::{Refusal, catalogue};
use broadleaf_report::{HEADINGS, LIVE_HEADINGS, RANGE_HEADINGS};
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};

use super::formats::{ADVICE_FORMATS, FORMATS};
use broadleaf_study::papers::PAPERS;

/// Takes any text, because there are more names than can be listed (`pop-77`, a machine's file), and offers those that can.
/// What is wrong with a name, the command says itself.
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

/// Whatever can be explained.
pub(crate) fn everything() -> Offered {
    let mut names: Vec<&str> = policy_names()
        .chain(machine_names())
        .chain(all_metrics().map(|metric| metric.name))
        .chain(Refusal::ALL.iter().map(|refusal| refusal.name()))
        .chain(
            parts()
                .into_iter()
                .flat_map(|(_, entries)| entries)
                .map(|entry| entry.name),
        )
        .chain(
            FORMATS
                .iter()
                .chain(ADVICE_FORMATS)
                .map(|format| format.name),
        )
        .collect();
    // Scripts for shells do not agree on how a blank inside a name is written.
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
    // Shells take brackets for something else, and scripts for them do not all quote.
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
