//! The names of the catalogues, for shells that complete an argument.

use broadleaf_machine::{machine_names, parts};
use broadleaf_metrics::all_metrics;
use broadleaf_model::ALLOCATORS;
use broadleaf_policy::{Refusal, catalogue};
use broadleaf_price::ENTRY_KINDS;
use broadleaf_report::{HEADINGS, LIVE_HEADINGS, RANGE_HEADINGS};

use super::formats::{ADVICE_FORMATS, FORMATS};
use super::terms::TERMS;

/// The names of policies that are ready to use. Names with brackets are left out: brackets mean
/// something else to shells, and not all scripts for shells quote them.
pub fn policy_names() -> impl Iterator<Item = &'static str> {
    let names = catalogue().iter().flat_map(|entry| entry.examples).copied();
    names.filter(|name| !name.contains('('))
}

/// Names that [`super::explain`] explains beside policies: reasons to stay, parts of machines,
/// kinds of TLB entries, allocators, formats, machines, metrics, headings of tables and words of
/// Linux. A name may come more than once.
pub(super) fn names_beside_policies() -> impl Iterator<Item = &'static str> {
    let reasons = Refusal::ALL.iter().map(|refusal| refusal.name());
    let parts = parts().into_iter().flat_map(|(_, entries)| entries);
    let kinds = ENTRY_KINDS.iter().map(|kind| kind.described.name);
    let allocators = ALLOCATORS.iter().map(|entry| entry.described.name);
    let formats = FORMATS.iter().chain(ADVICE_FORMATS);
    let headings = HEADINGS.iter().chain(RANGE_HEADINGS).chain(LIVE_HEADINGS);
    machine_names()
        .chain(all_metrics().map(|metric| metric.name))
        .chain(reasons)
        .chain(parts.map(|entry| entry.name))
        .chain(kinds)
        .chain(allocators)
        .chain(formats.map(|format| format.name))
        .chain(headings.map(|heading| heading.name))
        .chain(TERMS.iter().map(|term| term.described.name))
}

/// Names of everything that [`super::explain`] explains, each once. Names with blanks are left
/// out: scripts for shells write a blank inside a name in different ways.
pub fn explained_names() -> Vec<&'static str> {
    let mut names = Vec::new();
    for name in policy_names().chain(names_beside_policies()) {
        if !name.contains(' ') && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
