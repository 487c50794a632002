//! The figures of machines beside those that the sources print.
//!
//! `published.csv` was typed from the sources. Each difference from the machines is in its row,
//! with a reason.

use broadleaf_machine::{machine, machine_names};
use broadleaf_tlb::{Design, Fills, IndexFunction, ReferenceKind, Structure};
use broadleaf_units::PageSize;

const PUBLISHED: &str = include_str!("published.csv");

/// A row of the table.
struct PublishedFigures<'t> {
    machine: &'t str,
    level: usize,
    kinds: &'static [ReferenceKind],
    sizes: Vec<PageSize>,
    /// The name and the value of each figure that the source has.
    figures: Vec<(&'static str, String)>,
    /// The figures that the machine has instead, and the reason.
    differs: &'t str,
    reason: &'t str,
    line: &'t str,
}

fn rows() -> Vec<PublishedFigures<'static>> {
    let lines = PUBLISHED.lines().filter(|line| !line.starts_with('#'));
    lines.skip(1).map(row).collect()
}

fn row(line: &'static str) -> PublishedFigures<'static> {
    let cells: Vec<&str> = line.split(',').collect();
    let [
        machine,
        level,
        kind,
        sizes,
        entries,
        ways,
        index,
        rule,
        _,
        _,
        differs,
        reason,
    ] = cells[..]
    else {
        panic!("not twelve cells: {line}");
    };
    let size = |name| PageSize::from_short_name(name).expect("a page size");
    let index = match index {
        "" => String::new(),
        text => IndexFunction::parse(text).expect("an index").to_string(),
    };
    let figures = [
        ("entries", entries.to_owned()),
        ("ways", ways.to_owned()),
        ("index", index),
        ("replacement", rule.to_owned()),
    ];
    PublishedFigures {
        machine,
        level: level.parse().expect("a level"),
        kinds: match kind {
            "fetch" => &[ReferenceKind::Fetch],
            "load" => &[ReferenceKind::Load],
            "store" => &[ReferenceKind::Store],
            "data" => &[ReferenceKind::Load, ReferenceKind::Store],
            other => panic!("no kind of references: {other}"),
        },
        sizes: sizes.split('+').map(size).collect(),
        figures: figures
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .collect(),
        differs,
        reason,
        line,
    }
}

/// The structures of a level that translate pages of a size for these references.
fn structures<'d>(
    design: &'d Design,
    row: &PublishedFigures<'_>,
    size: PageSize,
) -> Vec<&'d Structure> {
    let all = design.structures().iter();
    let serves = |of: &Structure| row.kinds.iter().all(|kind| of.role.serves.has(*kind));
    let found = all.filter(|of| {
        of.level == row.level
            && of.role.fills == Fills::Walks
            && of.index(size).is_some()
            && serves(of)
    });
    found.collect()
}

/// A figure of structures, as the table writes it. Several values if the structures differ.
fn figure(name: &str, published: &str, structures: &[&Structure], size: PageSize) -> String {
    if name == "entries" {
        let entries: usize = structures.iter().map(|of| of.entries).sum();
        return entries.to_string();
    }
    let each = structures.iter().map(|of| match name {
        "ways" if published == "full" && of.ways == of.entries => "full".to_owned(),
        "ways" => of.ways.to_string(),
        "index" => of.index(size).map_or(String::new(), ToString::to_string),
        _ => of.replacement.entry().described.name.to_owned(),
    });
    let mut each: Vec<String> = each.collect();
    each.dedup();
    each.join(" or ")
}

/// The figures of a machine that are others than those of a row.
fn differences(row: &PublishedFigures<'_>) -> String {
    let design = machine(row.machine).expect("a machine").design;
    let mut differences = Vec::new();
    for size in &row.sizes {
        let structures = structures(&design, row, *size);
        if structures.is_empty() {
            differences.push(format!("no {}", size.short_name()));
            continue;
        }
        for (name, published) in &row.figures {
            let ours = figure(name, published, &structures, *size);
            let is_given = |given: &str| ours == given || *name == "index" && ours.contains(given);
            if !is_given(published) {
                differences.push(format!("{name}={ours}"));
            }
        }
    }
    differences.dedup();
    differences.join(" ")
}

#[test]
fn machines_have_the_figures_of_their_sources() {
    let mut wrong = Vec::new();
    for row in rows() {
        let found = differences(&row);
        if found != row.differs {
            wrong.push(format!("{}\n    has {found:?}", row.line));
        }
        assert_eq!(
            row.differs.is_empty(),
            row.reason.is_empty(),
            "{}",
            row.line
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Machines that people made up: variants of a processor for an experiment.
const MADE_UP: &[&str] = &["skylake-va23", "skylake-unified-64", "skylake-unified-96"];

#[test]
fn every_machine_is_in_the_table() {
    let rows = rows();
    let is_there =
        |name: &&str| MADE_UP.contains(name) || rows.iter().any(|row| row.machine == *name);
    let missing: Vec<&str> = machine_names().filter(|name| !is_there(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn a_wrong_figure_is_found() {
    let right = "zen5,1,data,4k,96,full,,,R,x,,";
    assert_eq!(differences(&row(right)), "");
    let wrong = "zen5,1,data,4k,95,12,va[17:14],gods,R,x,,";
    let found = "entries=96 ways=96 index=none replacement=lru";
    assert_eq!(differences(&row(wrong)), found);
    let lacking = "zen5,1,data,8k,96,full,,,R,x,,";
    assert_eq!(differences(&row(lacking)), "no 8k");
}
