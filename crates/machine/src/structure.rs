//! The structures of a machine's TLB, read from its `[[tlb]]` tables.

use crate::description::part;
use crate::parameters::{Keys, chosen};
use broadleaf_tlb::{
    Field, Fills, IndexFunction, Organisation, ProbeOrder, Replacement, Role, ServedKinds,
    Structure,
};
use broadleaf_units::PageSize;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// A `[[tlb]]` table, without the parameters of its organisation and its replacement rule.
#[derive(Deserialize)]
pub(crate) struct TlbText {
    name: String,
    level: Spanned<usize>,
    entries: Spanned<usize>,
    ways: Spanned<usize>,
    organisation: Option<Spanned<String>>,
    replacement: Spanned<String>,
    index: BTreeMap<String, Spanned<String>>,
    serves: Option<Spanned<Vec<ServedKind>>>,
    fills: Option<Spanned<FillsText>>,
    inclusive: Option<Spanned<bool>>,
    #[serde(default)]
    probes: ProbesText,
    alternates: Option<Spanned<bool>>,
    wired: Option<Spanned<usize>>,
    #[serde(rename = "walk-entries", default)]
    pub(crate) walk_entries: BTreeMap<String, Spanned<String>>,
}

/// A kind of reference that looks a structure up.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum ServedKind {
    Fetches,
    Loads,
    Stores,
}

/// What brings translations into a structure.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FillsText {
    #[default]
    Walks,
    Victims,
    Prefetches,
}

/// The order in which a structure is probed for its page sizes.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ProbesText {
    #[default]
    Parallel,
    LargestFirst,
    SmallestFirst,
}

pub(crate) fn page_size(name: &str) -> Result<PageSize, String> {
    match PageSize::from_short_name(name) {
        Some(size) if size >= PageSize::SIZE_4K => Ok(size),
        _ => Err(format!(
            "{name:?} is not a page size of 4k or more; write 4k, 2m, 1g"
        )),
    }
}

/// The values of a table by page size, with their places in the text.
pub(crate) type BySize<'a, T> = Vec<(PageSize, &'a Spanned<T>)>;

/// The entries of a table whose keys are page sizes, smallest first. `4k`, `4K` and `4096` are one
/// key, which TOML does not know.
///
/// # Errors
/// Returns an error if a key is no page size, or repeats one.
pub(crate) fn by_size<T>(
    table: &BTreeMap<String, Spanned<T>>,
) -> Result<BySize<'_, T>, (usize, String)> {
    let mut in_order: Vec<_> = table.iter().collect();
    in_order.sort_by_key(|(_, value)| value.span().start);
    let mut entries: BySize<'_, T> = Vec::new();
    for (name, value) in in_order {
        let at = value.span().start;
        let size = page_size(name).map_err(|message| (at, message))?;
        if entries.iter().any(|(known, _)| *known == size) {
            let message = format!(
                "{name:?} is given twice: {} is there already",
                size.short_name()
            );
            return Err((at, message));
        }
        entries.push((size, value));
    }
    entries.sort_by_key(|(size, _)| *size);
    Ok(entries)
}

/// The replacement rule of that name.
fn rule(name: &Spanned<String>) -> Result<&'static Replacement, (usize, String)> {
    let none = Replacement::lru().entry();
    part(Some(name), none, Replacement::named, "replacement")
}

/// The structure that a table describes. `keys` are the keys of the table, which hold the
/// parameters.
///
/// # Errors
/// Returns the place of a wrong value, and a sentence.
pub(crate) fn structure(text: &TlbText, keys: Option<&Keys>) -> Result<Structure, (usize, String)> {
    let kind = part(
        text.organisation.as_ref(),
        Organisation::set_associative(),
        Organisation::named,
        "TLB",
    )?;
    let rule = rule(&text.replacement)?;
    Ok(Structure {
        name: text.name.clone(),
        level: *text.level.get_ref(),
        entries: *text.entries.get_ref(),
        ways: *text.ways.get_ref(),
        pages: indices(&text.index)?,
        organisation: chosen(kind, keys)?,
        replacement: chosen(rule, keys)?,
        role: role(text),
        wired: text.wired.as_ref().map_or(0, |wired| *wired.get_ref()),
        walk_entries: indices(&text.walk_entries)?,
    })
}

/// Index functions by page size, smallest first.
fn indices(
    table: &BTreeMap<String, Spanned<String>>,
) -> Result<Vec<(PageSize, IndexFunction)>, (usize, String)> {
    let mut indices = Vec::new();
    for (size, index) in by_size(table)? {
        let parsed = IndexFunction::parse(index.get_ref());
        let parsed = parsed.map_err(|message| (index.span().start, message))?;
        indices.push((size, parsed));
    }
    Ok(indices)
}

fn role(text: &TlbText) -> Role {
    let serves = text.serves.as_ref().map(|kinds| kinds.get_ref());
    let has = |kind| serves.is_some_and(|kinds| kinds.contains(&kind));
    let kinds = ServedKinds {
        fetches: has(ServedKind::Fetches),
        loads: has(ServedKind::Loads),
        stores: has(ServedKind::Stores),
    };
    Role {
        serves: serves.map_or_else(ServedKinds::default, |_| kinds),
        fills: match text
            .fills
            .as_ref()
            .map(|one| *one.get_ref())
            .unwrap_or_default()
        {
            FillsText::Walks => Fills::Walks,
            FillsText::Victims => Fills::Victims,
            FillsText::Prefetches => Fills::Prefetches,
        },
        inclusive: text.inclusive.as_ref().is_some_and(|one| *one.get_ref()),
        probes: match text.probes {
            ProbesText::Parallel => ProbeOrder::Parallel,
            ProbesText::LargestFirst => ProbeOrder::LargestFirst,
            ProbesText::SmallestFirst => ProbeOrder::SmallestFirst,
        },
        alternates: text.alternates.as_ref().is_some_and(|one| *one.get_ref()),
    }
}

/// The place of a value, or that of its table if the table does not give the value.
fn given<T>(tlb: &Spanned<TlbText>, value: Option<&Spanned<T>>) -> usize {
    value.map_or(tlb.span().start, |value| value.span().start)
}

/// The place in the text of a structure's field. `keys` are the keys of its table.
pub(crate) fn position(tlb: &Spanned<TlbText>, keys: Option<&Keys>, field: Field) -> usize {
    let text = tlb.get_ref();
    match field {
        Field::Whole => tlb.span().start,
        Field::Level => text.level.span().start,
        Field::Entries => text.entries.span().start,
        Field::Ways => text.ways.span().start,
        Field::Replacement => text.replacement.span().start,
        Field::Organisation => given(tlb, text.organisation.as_ref()),
        Field::Parameter(name) => given(tlb, keys.and_then(|keys| keys.get(name))),
        Field::Serves => given(tlb, text.serves.as_ref()),
        Field::Fills => given(tlb, text.fills.as_ref()),
        Field::Inclusive => given(tlb, text.inclusive.as_ref()),
        Field::Alternates => given(tlb, text.alternates.as_ref()),
        Field::Wired => given(tlb, text.wired.as_ref()),
        Field::WalkEntries => {
            let first = text.walk_entries.values().map(|index| index.span().start);
            first.min().unwrap_or(tlb.span().start)
        }
        Field::Index(size) => {
            let named = text
                .index
                .iter()
                .find(|(name, _)| PageSize::from_short_name(name) == Some(size));
            named.map_or(tlb.span().start, |(_, index)| index.span().start)
        }
    }
}
