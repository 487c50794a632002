//! The names of the catalogues, for shells that complete an argument.

use broadleaf_machine::{machine_names, parts};
use broadleaf_metrics::all_metrics;
use broadleaf_policy::{Refusal, catalogue};
use broadleaf_price::ENTRY_KINDS;
use broadleaf_report::{HEADINGS, LIVE_HEADINGS, RANGE_HEADINGS};

use super::formats::{ADVICE_FORMATS, FORMATS};

/// The names of policies that are ready to use. Names with brackets are left out: brackets mean
/// something else to shells, and not all scripts for shells quote them.
pub fn policy_names() -> impl Iterator<Item = &'static str> {
    let names = catalogue().iter().flat_map(|entry| entry.examples).copied();
    names.filter(|name| !name.contains('('))
}

/// The names of reasons to stay, of parts of machines, of kinds of TLB entries, and of formats.
pub(super) fn names_of_reasons_parts_and_formats() -> impl Iterator<Item = &'static str> {
    let reasons = Refusal::ALL.iter().map(|refusal| refusal.name());
    let parts = parts().into_iter().flat_map(|(_, entries)| entries);
    let parts: Vec<&str> = parts.map(|entry| entry.name).collect();
    let kinds = ENTRY_KINDS.iter().map(|kind| kind.described.name);
    let kinds: Vec<&str> = kinds.filter(|kind| !parts.contains(kind)).collect();
    let formats = FORMATS.iter().chain(ADVICE_FORMATS);
    (reasons.chain(parts).chain(kinds)).chain(formats.map(|format| format.name))
}

/// Names of everything that [`super::explain`] explains. Names with blanks are left out: scripts
/// for shells write a blank inside a name in different ways.
pub fn explained_names() -> Vec<&'static str> {
    let mut names: Vec<&str> = policy_names()
        .chain(machine_names())
        .chain(all_metrics().map(|metric| metric.name))
        .chain(names_of_reasons_parts_and_formats())
        .collect();
    for heading in (HEADINGS.iter())
        .chain(RANGE_HEADINGS)
        .chain(LIVE_HEADINGS)
        .filter(|heading| !heading.name.contains(' '))
    {
        if !names.contains(&heading.name) {
            names.push(heading.name);
        }
    }
    names
}
