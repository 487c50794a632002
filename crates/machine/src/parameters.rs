//! The parameters of organisations and replacement rules: the keys of a `[[tlb]]` table that these
//! add.

use broadleaf_tlb::{
    ORGANISATIONS, Organisation, OrganisationChoice, REPLACEMENTS, Replacement, ReplacementChoice,
};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::{Spanned, Value};

/// The keys that every `[[tlb]]` table can have.
const KEYS: &[&str] = &[
    "name",
    "level",
    "entries",
    "ways",
    "organisation",
    "replacement",
    "index",
    "serves",
    "fills",
    "inclusive",
    "probes",
    "alternates",
    "wired",
    "walk-entries",
];

/// The place in the text of a wrong key, and a sentence.
type WrongKey = (usize, String);

/// The keys of one `[[tlb]]` table with their values.
pub(crate) type TlbKeys = BTreeMap<String, Spanned<Value>>;

#[derive(Deserialize)]
struct TlbTables {
    tlb: Vec<TlbKeys>,
}

/// The `[[tlb]]` tables of a machine's description, without types. Empty if the text has none: the
/// typed reader then says why.
///
/// # Errors
/// Returns an error if a key is neither one of every table nor a parameter of the table's
/// organisation or rule.
pub(crate) fn tlb_tables(text: &str) -> Result<Vec<TlbKeys>, WrongKey> {
    let tables = toml::from_str::<TlbTables>(text).map_or_else(|_| Vec::new(), |found| found.tlb);
    for table in &tables {
        let name = |key| table.get(key).and_then(|name| name.get_ref().as_str());
        let rule = name("replacement").and_then(Replacement::named);
        let organisation = match name("organisation") {
            Some(name) => Organisation::named(name),
            None => Some(Organisation::set_associative()),
        };
        let own = of_organisations(organisation).chain(of_rules(rule));
        let known: Vec<&str> = KEYS.iter().copied().chain(own).collect();
        let mut unknown = table.iter().filter(|(key, _)| !known.contains(&&***key));
        if let Some((key, value)) = unknown.next() {
            let is_other = |mut names: Box<dyn Iterator<Item = &str>>| names.any(|one| one == key);
            let message = match (rule, organisation) {
                (Some(rule), _) if is_other(Box::new(of_rules(None))) => {
                    let rule = rule.described.name;
                    format!("replacement {rule} has no parameter {key:?}")
                }
                (_, Some(organisation)) if is_other(Box::new(of_organisations(None))) => {
                    let organisation = organisation.described.name;
                    format!("organisation {organisation} has no parameter {key:?}")
                }
                _ => format!(
                    "unknown field `{key}`, expected one of {}",
                    known.join(", ")
                ),
            };
            return Err((value.span().start, message));
        }
    }
    Ok(tables)
}

/// The parameters of an organisation, or of all organisations.
fn of_organisations(
    organisation: Option<&'static Organisation>,
) -> impl Iterator<Item = &'static str> {
    let all = ORGANISATIONS.iter().copied();
    let all = all.filter(move |one| organisation.is_none_or(|organisation| *one == organisation));
    all.flat_map(|one| one.parameters.iter().map(|parameter| parameter.name))
}

/// The organisation with the parameters that a table gives.
///
/// # Errors
/// Returns an error if a value is not one of its parameter.
pub(crate) fn organisation(
    organisation: &'static Organisation,
    table: Option<&TlbKeys>,
) -> Result<OrganisationChoice, WrongKey> {
    let mut choice = OrganisationChoice::from(organisation);
    for name in of_organisations(Some(organisation)) {
        let Some(value) = table.and_then(|table| table.get(name)) else {
            continue;
        };
        let text = match value.get_ref() {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let set = choice.set(name, &text);
        set.map_err(|error| (value.span().start, error.to_string()))?;
    }
    Ok(choice)
}

/// The parameters of a rule, or of all rules.
fn of_rules(rule: Option<&'static Replacement>) -> impl Iterator<Item = &'static str> {
    let rules = REPLACEMENTS.iter().copied();
    let rules = rules.filter(move |one| rule.is_none_or(|rule| *one == rule));
    rules.flat_map(|rule| rule.parameters.iter().map(|parameter| parameter.name))
}

/// The rule with the parameters that a table gives.
///
/// # Errors
/// Returns an error if a value is no whole number in the range of its parameter.
pub(crate) fn replacement(
    rule: &'static Replacement,
    table: Option<&TlbKeys>,
) -> Result<ReplacementChoice, WrongKey> {
    let mut choice = ReplacementChoice::from(rule);
    for name in of_rules(Some(rule)) {
        let Some(value) = table.and_then(|table| table.get(name)) else {
            continue;
        };
        let at = value.span().start;
        let number = value.get_ref().as_integer().map(u64::try_from);
        let Some(Ok(number)) = number else {
            return Err((at, format!("{name} is a whole number")));
        };
        let set = choice.set(name, number);
        set.map_err(|error| (at, error.to_string()))?;
    }
    Ok(choice)
}
