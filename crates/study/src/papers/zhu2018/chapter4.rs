//! Chapter 4: the structure of the TLBs, found by pointer chases on the model.

use broadleaf_probe::{Analysis, LevelFound, Modelled, analyse};
use broadleaf_units::PageSize;

use crate::failure::Failure;
use crate::names;
use crate::papers::{Table, none};

/// The row, the thesis's entries, ways and index bits of a structure (tables 2.1 and 4.1).
struct PublishedStructure {
    name: &'static str,
    size: PageSize,
    second: bool,
    entries: usize,
    ways: usize,
    index: &'static str,
}

const STRUCTURES: [PublishedStructure; 4] = [
    PublishedStructure {
        name: "DTLB, 4 KiB",
        size: PageSize::SIZE_4K,
        second: false,
        entries: 64,
        ways: 4,
        index: "va[15:12]",
    },
    PublishedStructure {
        name: "DTLB, 2 MiB",
        size: PageSize::SIZE_2M,
        second: false,
        entries: 32,
        ways: 4,
        index: "va[24:22]",
    },
    PublishedStructure {
        name: "STLB, 4 KiB",
        size: PageSize::SIZE_4K,
        second: true,
        entries: 1536,
        ways: 12,
        index: "va[18:12] ^ va[25:19]",
    },
    PublishedStructure {
        name: "STLB, 2 MiB",
        size: PageSize::SIZE_2M,
        second: true,
        entries: 1536,
        ways: 12,
        index: "va[27:21]",
    },
];

/// The structure that chases find, beside the thesis's.
pub(super) fn table() -> Result<Table, Failure> {
    let mut table = Table::new(
        "Tables 2.1 and 4.1: the structure of the TLBs, by pointer chases",
        "The chases of section 4.1 run on the model of Skylake, and count its misses. They run on \
         hardware with broadleaf probe.",
        &[
            "structure",
            "entries: thesis",
            "here",
            "ways: thesis",
            "here",
            "index: thesis",
            "here",
            "replacement",
        ],
    );
    let machine = names::machine("skylake")?;
    let analysis = |size: PageSize| -> Result<Analysis, Failure> {
        let modelled = Modelled::of_machine(&machine, size);
        let missing = || Failure::failed("skylake has no data TLB of that size");
        Ok(analyse(&mut modelled.ok_or_else(missing)?, &mut || ()))
    };
    let found = [analysis(PageSize::SIZE_4K)?, analysis(PageSize::SIZE_2M)?];
    let mut same = true;
    for structure in &STRUCTURES {
        let analysis = &found[usize::from(structure.size == PageSize::SIZE_2M)];
        let level: Option<&LevelFound> = match structure.second {
            true => analysis.second.as_ref(),
            false => Some(&analysis.first),
        };
        let entries = level.and_then(|level| level.entries.value);
        let ways = level.and_then(|level| level.ways.value);
        let index = level.and_then(|level| level.index.value.as_ref());
        let index = index.map_or_else(none, ToString::to_string);
        let rules = level.and_then(|level| level.rules.value.as_ref());
        same &= entries == Some(structure.entries)
            && ways == Some(structure.ways)
            && index == structure.index;
        let number = |value: Option<usize>| value.map_or_else(none, |value| value.to_string());
        table.row([
            structure.name.to_owned(),
            structure.entries.to_string(),
            number(entries),
            structure.ways.to_string(),
            number(ways),
            structure.index.to_owned(),
            index,
            rules.map_or_else(none, |rules| rules.join(" or ")),
        ]);
    }
    table
        .direction(same, "chases find entries, ways and index functions")
        .because("the chases leave a value open");
    // The chases of the thesis have pages of 4 KiB. Superpages of one set of the second level share
    // a set of the first, so no chase of them tells.
    let relation = found[0].inclusion.value.map_or("open", |one| one.name());
    table
        .direction(
            relation == "neither",
            "the second level is neither inclusive nor exclusive",
        )
        .words("neither", relation);
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chases_find_the_tables_of_the_thesis() {
        let table = table().unwrap();
        assert_eq!(table.rows.len(), 4);
        assert!(table.claims.iter().all(|claim| claim.agrees), "{table:?}");
    }
}
