//! The parameters of organisations and replacement rules: the keys of a `[[tlb]]` or `[[cache]]`
//! table that these add.

use broadleaf_cache::LineReplacement;
use broadleaf_tlb::{CatalogueChoice, Organisation, Parametric, Replacement, StructureParameter};
use broadleaf_units::no_key;
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

/// The keys that every `[[cache]]` table can have.
const CACHE_KEYS: &[&str] = &[
    "name",
    "level",
    "serves",
    "size",
    "ways",
    "line",
    "latency",
    "replacement",
    "prefetch-streams",
    "prefetch-distance",
    "prefetch-step",
];

/// The place in the text of a wrong key, and a sentence.
type WrongKey = (usize, String);

/// The keys of one `[[tlb]]` or `[[cache]]` table with their values.
pub(crate) type Keys = BTreeMap<String, Spanned<Value>>;

#[derive(Deserialize)]
struct TlbTables {
    tlb: Vec<Keys>,
}

#[derive(Deserialize)]
struct CacheTables {
    #[serde(default)]
    cache: Vec<Keys>,
}

/// The `[[tlb]]` tables of a machine's description, without types. Empty if the text has none: the
/// typed reader then says why.
///
/// # Errors
/// Returns an error if a key is neither one of every table nor a parameter of the table's
/// organisation or rule.
pub(crate) fn tlb_tables(text: &str) -> Result<Vec<Keys>, WrongKey> {
    let tables = toml::from_str::<TlbTables>(text).map_or_else(|_| Vec::new(), |found| found.tlb);
    for table in &tables {
        let name = |key| table.get(key).and_then(|name| name.get_ref().as_str());
        let rule = name("replacement").and_then(Replacement::named);
        let organisation = match name("organisation") {
            Some(name) => Organisation::named(name),
            None => Some(Organisation::set_associative()),
        };
        let own = [names(organisation), names(rule)].concat();
        refuse_unknown(table, KEYS, &own, |key| {
            of_another(key, rule).or_else(|| of_another(key, organisation))
        })?;
    }
    Ok(tables)
}

/// The `[[cache]]` tables of a machine's description, without types.
///
/// # Errors
/// Returns an error if a key is neither one of every table nor a parameter of the table's rule.
pub(crate) fn cache_tables(text: &str) -> Result<Vec<Keys>, WrongKey> {
    let tables = toml::from_str::<CacheTables>(text);
    let tables = tables.map_or_else(|_| Vec::new(), |found| found.cache);
    for table in &tables {
        let rule = table.get("replacement");
        let rule = rule.and_then(|name| name.get_ref().as_str());
        let rule = rule.and_then(LineReplacement::named);
        refuse_unknown(table, CACHE_KEYS, &names(rule), |key| of_another(key, rule))?;
    }
    Ok(tables)
}

/// Refuses a key of a table that is none of these. `reason` is a better reason, if there is one.
fn refuse_unknown(
    table: &Keys,
    keys: &[&'static str],
    own: &[&'static str],
    reason: impl Fn(&str) -> Option<String>,
) -> Result<(), WrongKey> {
    let known: Vec<&str> = keys.iter().chain(own).copied().collect();
    let mut unknown = table.iter().filter(|(key, _)| !known.contains(&&***key));
    let Some((key, value)) = unknown.next() else {
        return Ok(());
    };
    let message = reason(key).unwrap_or_else(|| no_key(key, &known));
    Err((value.span().start, message))
}

/// The names of an entry's parameters, or of those of its whole catalogue, each once.
pub(crate) fn names<E: Parametric>(entry: Option<&'static E>) -> Vec<&'static str> {
    let all = E::catalogue().iter().copied();
    let all = all.filter(|one| entry.is_none_or(|entry| *one == entry));
    let mut names = Vec::new();
    for StructureParameter { name, .. } in all.flat_map(|one| one.parameters()) {
        if !names.contains(name) {
            names.push(*name);
        }
    }
    names
}

/// The reason why an entry has no key that other entries of its catalogue have.
fn of_another<E: Parametric>(key: &str, entry: Option<&'static E>) -> Option<String> {
    let entry = entry.filter(|_| names::<E>(None).contains(&key))?;
    let (kind, name) = (E::KIND, entry.name());
    Some(format!("{kind} {name} has no parameter {key:?}"))
}

/// An entry of a catalogue with the parameters that a table gives.
///
/// # Errors
/// Returns an error if a value is not one of its parameter.
pub(crate) fn chosen<E: Parametric>(
    entry: &'static E,
    table: Option<&Keys>,
) -> Result<CatalogueChoice<E>, WrongKey> {
    let mut choice = CatalogueChoice::from(entry);
    for parameter in entry.parameters() {
        let Some(value) = table.and_then(|table| table.get(parameter.name)) else {
            continue;
        };
        let text = match value.get_ref() {
            // A number in quotes keeps them, and is refused.
            Value::String(text) if parameter.range().is_none() => text.clone(),
            other => other.to_string(),
        };
        let set = choice.set(parameter.name, &text);
        set.map_err(|error| (value.span().start, error.to_string()))?;
    }
    Ok(choice)
}
