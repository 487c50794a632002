//! The parameters of replacement rules: the keys of a `[[tlb]]` table that its rule adds.

use broadleaf_tlb::{REPLACEMENTS, Replacement, ReplacementChoice};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::{Spanned, Value};

/// The keys that a `[[tlb]]` table can have whatever its rule is.
const KEYS: &[&str] = &[
    "name",
    "level",
    "entries",
    "ways",
    "organisation",
    "replacement",
    "index",
];

/// The place in the text of a wrong key, and a sentence.
type WrongKey = (usize, String);

/// The keys of one `[[tlb]]` table with their values.
type TlbKeys = BTreeMap<String, Spanned<Value>>;

#[derive(Deserialize)]
struct TlbTables {
    tlb: Vec<TlbKeys>,
}

/// The `[[tlb]]` tables of a machine's description, without types. Empty if the text has none: the
/// typed reader then says why.
///
/// # Errors
/// Returns an error if a key is neither one of every table nor a parameter of the table's rule.
pub(crate) fn tlb_tables(text: &str) -> Result<Vec<TlbKeys>, WrongKey> {
    let tables = toml::from_str::<TlbTables>(text).map_or_else(|_| Vec::new(), |found| found.tlb);
    for table in &tables {
        let rule = table.get("replacement");
        let rule = rule.and_then(|name| Replacement::named(name.get_ref().as_str()?));
        let known: Vec<&str> = KEYS.iter().copied().chain(parameters(rule)).collect();
        let mut unknown = table.iter().filter(|(key, _)| !known.contains(&&***key));
        if let Some((key, value)) = unknown.next() {
            let mut message = format!(
                "unknown field `{key}`, expected one of {}",
                known.join(", ")
            );
            if let Some(rule) = rule.filter(|_| parameters(None).any(|name| name == key)) {
                let rule = rule.described.name;
                message = format!("replacement {rule} has no parameter {key:?}");
            }
            return Err((value.span().start, message));
        }
    }
    Ok(tables)
}

/// The parameters of a rule, or of all rules.
fn parameters(rule: Option<&'static Replacement>) -> impl Iterator<Item = &'static str> {
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
    for name in parameters(Some(rule)) {
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
