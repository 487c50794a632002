//! The checks of a design: each structure by itself, and beside the others.

use super::{DesignError, Field, MOST_TLB_LEVELS, Structure};
use crate::organisation::REPLICATE;
use crate::role::Fills;
use crate::{IndexFunction, ReferenceKind};
use broadleaf_units::PageSize;

/// The maximum number of entries of a structure, so that a mistyped number does not exhaust memory.
const MOST_ENTRIES: usize = 1 << 24;
/// Page sizes are coded in four bits of an entry, of which 0 means an empty one.
const MOST_SIZES: usize = 15;

/// The wrong part of a structure, and a sentence.
type Refusal = Option<(Field, String)>;

pub(super) fn check(structures: &[Structure]) -> Result<(), DesignError> {
    if structures.is_empty() {
        return Err(DesignError {
            structure: 0,
            name: String::new(),
            field: Field::Whole,
            message: "a machine needs at least one tlb".to_owned(),
        });
    }
    for (number, of) in structures.iter().enumerate() {
        if let Some((field, message)) = refusal(structures, number) {
            return Err(DesignError {
                structure: number,
                name: of.name.clone(),
                field,
                message,
            });
        }
    }
    Ok(())
}

/// The reason why a design cannot have a structure, if there is one.
fn refusal(structures: &[Structure], number: usize) -> Refusal {
    let of = &structures[number];
    let organisation = of.organisation.entry();
    let reason = |field: Field| move |reason: String| (field, reason);
    numbers(structures, of)
        .or_else(|| wired(of).map(reason(Field::Wired)))
        .or_else(|| of.role.refuses(of.level))
        .or_else(|| (of.replacement.entry().refuses)(of.ways).map(reason(Field::Replacement)))
        .or_else(|| page_count(of))
        .or_else(|| {
            let mut pages = of.pages.iter();
            pages.find_map(|(size, _)| page_size(structures, number, *size))
        })
        .or_else(|| (organisation.refuses)(of))
        .or_else(|| turns(structures, number))
        .or_else(|| replicated(structures, of))
        .or_else(|| walk_entries(of).map(reason(Field::WalkEntries)))
}

/// The level, the entries and the ways.
fn numbers(structures: &[Structure], of: &Structure) -> Refusal {
    if !(1..=MOST_TLB_LEVELS).contains(&of.level) {
        return Some((Field::Level, format!("the level is 1 to {MOST_TLB_LEVELS}")));
    }
    let above = of.level - 1;
    if above > 0 && !structures.iter().any(|other| other.level == above) {
        let message = format!(
            "there is no tlb of level {above}: levels have no gap, so add one or write level = {above}"
        );
        return Some((Field::Level, message));
    }
    if !(1..=MOST_ENTRIES).contains(&of.entries) {
        let message = format!("a tlb has 1 to {MOST_ENTRIES} entries");
        return Some((Field::Entries, message));
    }
    (of.ways == 0 || !of.entries.is_multiple_of(of.ways)).then(|| {
        let (entries, ways) = (of.entries, of.ways);
        let message = format!("{entries} entries do not divide into sets of {ways} ways");
        (Field::Ways, message)
    })
}

/// The wired entries.
fn wired(of: &Structure) -> Option<String> {
    let (wired, sets, entries) = (of.wired, of.sets(), of.entries);
    if !wired.is_multiple_of(sets) {
        return Some(format!(
            "{wired} wired entries do not divide into {sets} sets"
        ));
    }
    (wired >= entries)
        .then(|| format!("{wired} wired entries of {entries} leave none for the pages of programs"))
}

/// The walk entries.
fn walk_entries(of: &Structure) -> Option<String> {
    let (first, _) = of.walk_entries.first()?;
    if of.level == 1 {
        return Some("walks look up walk entries below the first level".to_owned());
    }
    if of.role.fills != Fills::Walks {
        return Some("walks fill structures of walk entries: fills = \"walks\"".to_owned());
    }
    if *first <= of.pages[0].0 {
        let (span, page) = (first.short_name(), of.pages[0].0.short_name());
        return Some(format!(
            "a walk entry of {span} is no larger than a page of {page}"
        ));
    }
    let wrong_sets = |(span, index): &(PageSize, IndexFunction)| {
        let inside = |bit| bit < u32::from(span.shift());
        if index.sets() != of.sets() as u64 {
            let (found, sets) = (index.sets(), of.sets());
            return Some(format!("{index} distinguishes {found} sets of {sets}"));
        }
        let span = span.short_name();
        let is_inside = index.lowest_bit().is_some_and(inside);
        is_inside.then(|| format!("{index} looks at bits inside a walk entry of {span}"))
    };
    of.walk_entries.iter().find_map(wrong_sets)
}

fn page_count(of: &Structure) -> Refusal {
    let message = match of.pages.len() {
        0 => "a tlb holds at least one page size".to_owned(),
        count if count > MOST_SIZES => format!("a tlb holds at most {MOST_SIZES} page sizes"),
        _ => return None,
    };
    Some((Field::Whole, message))
}

/// One page size: its index, and the other structures that hold it.
fn page_size(structures: &[Structure], number: usize, size: PageSize) -> Refusal {
    let of = &structures[number];
    let index = of.index(size)?;
    let refuse = |message: String| Some((Field::Index(size), message));
    let name = size.short_name();
    if index.sets() != of.sets() as u64 {
        return refuse(format!(
            "{index} distinguishes {} sets, but {} entries in {} ways make {}",
            index.sets(),
            of.entries,
            of.ways,
            of.sets()
        ));
    }
    let inside = |bit| bit < u32::from(size.shift());
    if !of.organisation.flag(REPLICATE) && index.lowest_bit().is_some_and(inside) {
        return refuse(format!("{index} looks at bits inside a {name} page"));
    }
    let twin = |other: &&Structure| {
        let same = other.level == of.level && other.index(size).is_some();
        same && other.role.competes_with(&of.role)
    };
    if let Some(other) = structures[..number].iter().find(twin) {
        let (other, level) = (&other.name, other.level);
        return refuse(format!(
            "{other} holds {name} pages at level {level} already"
        ));
    }
    unfilled(structures, of, size).and_then(refuse)
}

/// The first level holds each size for each kind of reference that looks the structure up, and for
/// stores if it does for loads. Otherwise a second access to a page would miss the first level
/// again, however soon the access came.
fn unfilled(structures: &[Structure], of: &Structure, size: PageSize) -> Option<String> {
    let is_first = |other: &&Structure| {
        let holds = other.level == 1 && other.index(size).is_some();
        holds && other.role.fills == Fills::Walks
    };
    let name = size.short_name();
    if !structures.iter().any(|other| is_first(&other)) {
        return Some(format!("no tlb of level 1 holds {name} pages"));
    }
    let serves = of.role.serves;
    let is_data = serves.loads || serves.stores;
    let kinds = [
        (serves.fetches, ReferenceKind::Fetch, "fetches"),
        (is_data, ReferenceKind::Load, "loads"),
        (is_data, ReferenceKind::Store, "stores"),
    ];
    let lacks = |(wanted, kind, _): &(bool, ReferenceKind, &str)| {
        let mut first = structures.iter().filter(is_first);
        *wanted && !first.any(|other| other.role.serves.has(*kind))
    };
    let (_, _, kind) = kinds.into_iter().find(lacks)?;
    Some(format!("no tlb of level 1 holds {name} pages for {kind}"))
}

/// Structures take turns when walks fill them.
fn turns(structures: &[Structure], number: usize) -> Refusal {
    let of = &structures[number];
    if !of.role.alternates {
        return None;
    }
    if of.role.fills != Fills::Walks {
        let message = "only structures that walks fill take turns".to_owned();
        return Some((Field::Alternates, message));
    }
    let is_partner = |(at, other): (usize, &Structure)| {
        let role = other.role;
        let is_beside = at != number && other.level == of.level;
        let takes = role.alternates && role.fills == Fills::Walks;
        let shares = of
            .pages
            .iter()
            .any(|(size, _)| other.index(*size).is_some());
        is_beside && takes && shares && role.serves.overlaps(of.role.serves)
    };
    let has_partner = structures.iter().enumerate().any(is_partner);
    (!has_partner).then(|| {
        let message = "no other structure of the level takes turns with it".to_owned();
        (Field::Alternates, message)
    })
}

/// A page with copies in several sets of a structure does not leave the structure with one copy, so
/// neither victims nor inclusion are defined.
fn replicated(structures: &[Structure], of: &Structure) -> Refusal {
    let field = match (of.role.fills, of.role.inclusive) {
        (Fills::Victims, _) => Field::Fills,
        (_, true) => Field::Inclusive,
        _ => return None,
    };
    let mut others = structures.iter();
    let other = others.find(|other| other.organisation.flag(REPLICATE))?;
    let message = format!(
        "{} replicates pages: copies in several sets allow neither victims nor inclusion",
        other.name
    );
    Some((field, message))
}
