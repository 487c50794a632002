//! Families of machines: the machines for which one filter is exact.

use broadleaf_tlb::{Design, Organisation, Replacement, Role, Structure};
use std::collections::BTreeSet;

/// The fingerprint of the first TLB levels of some machines, as [`crate::Recency`] needs it: the
/// sizes, the index, the ways, the organisation and the replacement of each structure. A filter for
/// a family is exact for each machine whose first level consists of structures of the family.
/// Higher levels do not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Family(BTreeSet<String>);

impl Family {
    /// The smallest family that has all these designs.
    pub fn of<'a>(designs: impl IntoIterator<Item = &'a Design>) -> Self {
        let structures = designs
            .into_iter()
            .flat_map(Design::structures)
            .filter(|structure| structure.level == 1);
        Self(structures.map(describe).collect())
    }

    /// Parses a family's text.
    pub fn parse(text: &str) -> Self {
        Self(text.split("; ").map(str::to_owned).collect())
    }

    /// Returns true if all machines of this family belong to the other one too.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }
}

fn describe(structure: &Structure) -> String {
    // All fields are named, so that a new field has to be judged here: the description holds
    // everything that the filter relies on.
    let Structure {
        name: _,
        level: _,
        entries: _,
        ways,
        pages,
        organisation,
        replacement,
        role,
        wired,
        // Walks alone look them up, below the first level.
        walk_entries: _,
    } = structure;
    let sizes: Vec<String> = (pages.iter())
        .map(|(size, index)| format!("{} by {index}", size.short_name()))
        .collect();
    let mut text = format!("{}, {ways} ways", sizes.join(" and "));
    // Sets with exact LRU replacement are not named: files of earlier versions hold no other.
    if !Organisation::is_plain_sets(organisation) {
        text += &format!(", {organisation}");
    }
    if *role != Role::default() {
        text += &format!(", {role:?}");
    }
    if !Replacement::is_lru(replacement) {
        text += &format!(", {replacement}");
    }
    if *wired > 0 {
        text += &format!(", {wired} wired");
    }
    text
}

impl std::fmt::Display for Family {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, structure) in self.0.iter().enumerate() {
            f.write_str(if at == 0 { "" } else { "; " })?;
            f.write_str(structure)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use broadleaf_tlb::{REPLACEMENTS, ReplacementChoice};

    #[test]
    fn written_as_read_and_by_what_matters() {
        let (skylake, va23) = (testing::skylake(), testing::skylake_va23());
        let both = Family::of([&skylake, &va23]);
        assert_eq!(
            both.to_string(),
            "2m by va[23:21], 4 ways; 2m by va[24:22], 4 ways; 4k by va[15:12], 4 ways"
        );
        assert_eq!(Family::parse(&both.to_string()), both);
        assert!(Family::of([&skylake]).is_within(&both) && both.is_within(&both));
        assert!(!Family::of([&va23]).is_within(&Family::of([&skylake])));
        assert!(!Family::of([&testing::design("skylake-unified-64")]).is_within(&both));
    }

    #[test]
    fn rules_and_their_parameters_make_families_of_their_own() {
        let plain = testing::skylake();
        let mut choices = Vec::new();
        for rule in REPLACEMENTS {
            let mut choice = ReplacementChoice::from(*rule);
            choices.push(choice.clone());
            for key in rule.parameters {
                let (_, most) = key.range().expect("a number");
                let other = choice.set(key.name, &most.to_string());
                assert_eq!(other, Ok(()));
                choices.push(choice.clone());
            }
        }
        let family = |choice: &ReplacementChoice| {
            let mut structures = plain.structures().to_vec();
            let first = structures
                .iter_mut()
                .filter(|structure| structure.level == 1);
            first.for_each(|structure| {
                // Ways that any rule can have.
                (structure.ways, structure.entries) = match (choice.entry().refuses)(4) {
                    None => (4, structure.entries),
                    Some(_) => (6, structure.entries / 4 * 6),
                };
                structure.replacement = choice.clone();
            });
            Family::of([&Design::new(structures).expect("a design")])
        };
        let families: BTreeSet<String> = choices.iter().map(|it| family(it).to_string()).collect();
        assert_eq!(families.len(), choices.len());
        assert!(families.contains(&Family::of([&plain]).to_string()));
    }
}
