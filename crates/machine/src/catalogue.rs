//! The catalogue of machines. A new machine is one file under `machines/` and one line here.

use crate::{Machine, MachineError};
use broadleaf_cache::{CACHES, LINE_REPLACEMENTS, LineReplacement};
use broadleaf_pagetable::{PAGE_TABLES, PageTableKind, SYNONYM_TABLES};
use broadleaf_tlb::{ORGANISATIONS, Organisation, REPLACEMENTS, Replacement};
use broadleaf_units::{Described, StructureParameter};

/// Names and descriptions of the machines that are built in, in the order in which they are listed.
const MACHINES: &[(&str, &str)] = &[
    ("skylake", include_str!("../../../machines/skylake.toml")),
    (
        "skylake-va23",
        include_str!("../../../machines/skylake-va23.toml"),
    ),
    (
        "skylake-unified-64",
        include_str!("../../../machines/skylake-unified-64.toml"),
    ),
    (
        "skylake-unified-96",
        include_str!("../../../machines/skylake-unified-96.toml"),
    ),
    (
        "romer1995",
        include_str!("../../../machines/romer1995.toml"),
    ),
    (
        "alpha21264",
        include_str!("../../../machines/alpha21264.toml"),
    ),
    (
        "skylake-1g",
        include_str!("../../../machines/skylake-1g.toml"),
    ),
    (
        "neoverse-n1",
        include_str!("../../../machines/neoverse-n1.toml"),
    ),
    (
        "neoverse-n1-16k",
        include_str!("../../../machines/neoverse-n1-16k.toml"),
    ),
    (
        "skylake-instructions",
        include_str!("../../../machines/skylake-instructions.toml"),
    ),
    (
        "skylake-plru",
        include_str!("../../../machines/skylake-plru.toml"),
    ),
    ("ice-lake", include_str!("../../../machines/ice-lake.toml")),
    (
        "golden-cove",
        include_str!("../../../machines/golden-cove.toml"),
    ),
    (
        "gracemont",
        include_str!("../../../machines/gracemont.toml"),
    ),
    ("zen2", include_str!("../../../machines/zen2.toml")),
    ("zen3", include_str!("../../../machines/zen3.toml")),
    ("zen4", include_str!("../../../machines/zen4.toml")),
    ("zen5", include_str!("../../../machines/zen5.toml")),
    (
        "zen5-core",
        include_str!("../../../machines/zen5-core.toml"),
    ),
    (
        "neoverse-n1-aggregating",
        include_str!("../../../machines/neoverse-n1-aggregating.toml"),
    ),
    (
        "neoverse-n2",
        include_str!("../../../machines/neoverse-n2.toml"),
    ),
    (
        "neoverse-n2-aggregating",
        include_str!("../../../machines/neoverse-n2-aggregating.toml"),
    ),
    (
        "neoverse-v1",
        include_str!("../../../machines/neoverse-v1.toml"),
    ),
    (
        "neoverse-v1-aggregating",
        include_str!("../../../machines/neoverse-v1-aggregating.toml"),
    ),
    (
        "neoverse-v2",
        include_str!("../../../machines/neoverse-v2.toml"),
    ),
    (
        "neoverse-v2-aggregating",
        include_str!("../../../machines/neoverse-v2-aggregating.toml"),
    ),
    (
        "apple-16k",
        include_str!("../../../machines/apple-16k.toml"),
    ),
    (
        "power9-radix",
        include_str!("../../../machines/power9-radix.toml"),
    ),
    ("c910", include_str!("../../../machines/c910.toml")),
    ("p870", include_str!("../../../machines/p870.toml")),
    (
        "alpha21064",
        include_str!("../../../machines/alpha21064.toml"),
    ),
    (
        "alpha21164",
        include_str!("../../../machines/alpha21164.toml"),
    ),
    (
        "alpha21264-round-robin",
        include_str!("../../../machines/alpha21264-round-robin.toml"),
    ),
    ("r4000", include_str!("../../../machines/r4000.toml")),
    (
        "supersparc",
        include_str!("../../../machines/supersparc.toml"),
    ),
    (
        "ultrasparc1",
        include_str!("../../../machines/ultrasparc1.toml"),
    ),
    (
        "romer1995-instructions",
        include_str!("../../../machines/romer1995-instructions.toml"),
    ),
    ("chen2014", include_str!("../../../machines/chen2014.toml")),
    (
        "chen2014-1core",
        include_str!("../../../machines/chen2014-1core.toml"),
    ),
    (
        "chen2014-4core",
        include_str!("../../../machines/chen2014-4core.toml"),
    ),
    (
        "chen2014-4core-scattered",
        include_str!("../../../machines/chen2014-4core-scattered.toml"),
    ),
    (
        "chen2014-4core-scattered-sets",
        include_str!("../../../machines/chen2014-4core-scattered-sets.toml"),
    ),
    (
        "chen2014-scattered",
        include_str!("../../../machines/chen2014-scattered.toml"),
    ),
    (
        "chen2014-scattered-sets",
        include_str!("../../../machines/chen2014-scattered-sets.toml"),
    ),
];

/// The catalogues of the parts that a machine's description can name: the kind in the singular, and
/// the entries.
pub fn parts() -> [(&'static str, Vec<Described>); 6] {
    let tlbs = ORGANISATIONS.iter().map(|entry| entry.described);
    let replacements = REPLACEMENTS.iter().map(|entry| entry.described);
    let page_tables = PAGE_TABLES.iter().map(|entry| entry.described);
    let synonyms = SYNONYM_TABLES.iter().map(|entry| entry.described);
    let caches = CACHES.iter().map(|entry| entry.described);
    let line_replacements = LINE_REPLACEMENTS.iter().map(|entry| entry.described);
    [
        ("TLB", tlbs.collect()),
        ("replacement", replacements.collect()),
        ("page table", page_tables.collect()),
        ("synonym table", synonyms.collect()),
        ("cache", caches.collect()),
        ("cache replacement", line_replacements.collect()),
    ]
}

/// The parameters of a part of a machine; none if the kind has no parameters or no part of that
/// name.
pub fn part_parameters(kind: &str, name: &str) -> &'static [StructureParameter] {
    let parameters = match kind {
        "TLB" => Organisation::named(name).map(|one| one.parameters),
        "replacement" => Replacement::named(name).map(|one| one.parameters),
        "cache replacement" => LineReplacement::named(name).map(|one| one.parameters),
        "page table" => PageTableKind::named(name).map(|one| one.parameters),
        _ => None,
    };
    parameters.unwrap_or(&[])
}

/// A name that no machine has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no machine is called {name:?}")]
pub struct UnknownMachine {
    /// The requested name.
    pub name: String,
}

/// The names of the machines that are built in.
pub fn machine_names() -> impl Iterator<Item = &'static str> {
    MACHINES.iter().map(|(name, _)| *name)
}

/// The description of the built-in machine of that name, as its file has it.
///
/// # Errors
/// Returns an error if no machine has that name.
pub fn machine_text(name: &str) -> Result<&'static str, UnknownMachine> {
    let found = MACHINES.iter().find(|(known, _)| *known == name);
    let unknown = || UnknownMachine {
        name: name.to_string(),
    };
    found.map(|(_, text)| *text).ok_or_else(unknown)
}

/// The reason why there is no such built-in machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub enum NoMachine {
    /// No machine has that name.
    Unknown(#[from] UnknownMachine),
    /// The machine's description is invalid.
    Wrong(#[from] MachineError),
}

/// The built-in machine of that name.
///
/// # Errors
/// Returns an error if no machine has that name.
pub fn machine(name: &str) -> Result<Machine, NoMachine> {
    Ok(Machine::from_toml(machine_text(name)?)?)
}
