//! The designs to time: each organisation with its options, each replacement rule, and levels.

use super::TimedDesign;
use super::stream::SUPERPAGE;
use crate::Failed;
use broadleaf_oracle::RuleSpec;
use broadleaf_oracle::design::{
    SlowBlocks, SlowCheck, SlowFills, SlowForm, SlowFrames, SlowModified, SlowProbes,
    SlowReference, SlowStructure, SlowValid,
};
use broadleaf_tlb::{ORGANISATIONS, REPLACEMENTS, Replacement};

/// The entries of a structure of the first level.
const ENTRIES: usize = 64;
/// The ways of its sets, if it is not fully associative. Three groups of rules need a multiple of
/// three, which [`ways_for`] chooses.
const WAYS: usize = 4;

const BASE: &[(u64, u64)] = &[(1, 1)];
const BASE_AND_SUPERPAGES: &[(u64, u64)] = &[(1, 1), (SUPERPAGE, SUPERPAGE)];
const SUPERPAGE_INDEX: &[(u64, u64)] = &[(1, SUPERPAGE), (SUPERPAGE, SUPERPAGE)];
const BASE_INDEX: &[(u64, u64)] = &[(1, 1), (SUPERPAGE, 1)];
const OF_BLOCKS: &[(u64, u64)] = SUPERPAGE_INDEX;

const PAGES: SlowForm = SlowForm::Pages { faults: false };

const COMPLETE: SlowBlocks = SlowBlocks {
    subblocks: SUPERPAGE,
    own: false,
    preload: false,
    page_alone: true,
    check: SlowCheck::Full,
    modified: SlowModified::Page,
    valid: SlowValid::Vector,
    frames: SlowFrames::Any,
    shares_rights: false,
};

const PARTIAL: SlowBlocks = SlowBlocks {
    modified: SlowModified::Block,
    frames: SlowFrames::Placed,
    shares_rights: true,
    ..COMPLETE
};

const COALESCED: SlowBlocks = SlowBlocks {
    subblocks: 4,
    preload: true,
    page_alone: false,
    check: SlowCheck::Never,
    modified: SlowModified::Page,
    valid: SlowValid::Whole,
    ..PARTIAL
};

/// All designs.
///
/// # Errors
/// Returns an error if a description is refused, the oracle does not know a rule, or no design has
/// an organisation.
pub fn all() -> Result<Vec<TimedDesign>, Failed> {
    let mut designs = Vec::new();
    for rule in REPLACEMENTS {
        designs.extend(rules(rule)?);
    }
    designs.extend(organisations()?);
    designs.extend(levels()?);
    for organisation in ORGANISATIONS {
        let is_timed = |of: &TimedDesign| {
            let mut structures = of.design.structures().iter();
            structures.any(|structure| *structure.organisation.entry() == **organisation)
        };
        if !designs.iter().any(is_timed) {
            return Err(format!("no timed design has the organisation {organisation:?}").into());
        }
    }
    Ok(designs)
}

/// A rule in a fully associative structure and in sets.
fn rules(rule: &Replacement) -> Result<Vec<TimedDesign>, Failed> {
    let parameter = rule
        .parameters
        .first()
        .and_then(|parameter| parameter.range());
    let spec = RuleSpec::named(
        rule.described.name,
        parameter.map(|(least, _)| least.max(2)),
    );
    let spec = spec.ok_or_else(|| format!("the oracle does not know {rule:?}"))?;
    let name = rule.described.name;
    let mut designs = Vec::new();
    for (sets, place) in [(1, "fully associative"), (ENTRIES / WAYS, "sets")] {
        let ways = ways_for(rule, ENTRIES / sets);
        let mut of = SlowStructure::alone(sets, ways, BASE, PAGES);
        of.rule = spec;
        designs.push(TimedDesign::new(&format!("{name}, {place}"), vec![of])?);
    }
    Ok(designs)
}

/// The number of ways, or the next larger one that a rule can have.
fn ways_for(rule: &Replacement, ways: usize) -> usize {
    let mut fitting = (ways..4 * ways).filter(|ways| (rule.refuses)(*ways).is_none());
    fitting.next().unwrap_or(ways)
}

/// Organisations alone, with LRU.
fn organisations() -> Result<Vec<TimedDesign>, Failed> {
    let whole = |sizes: &[(u64, u64)], form| SlowStructure::alone(1, ENTRIES, sizes, form);
    let sets = |sizes: &[(u64, u64)], form, probes| {
        let mut of = SlowStructure::alone(ENTRIES / WAYS, WAYS, sizes, form);
        of.probes = probes;
        of
    };
    let blocks = |blocks| whole(OF_BLOCKS, SlowForm::Blocks(blocks));
    let sets_of_blocks = |blocks| sets(OF_BLOCKS, SlowForm::Blocks(blocks), SlowProbes::Parallel);
    let faults = SlowForm::Pages { faults: true };
    let list = [
        ("superpages", whole(BASE_AND_SUPERPAGES, PAGES)),
        (
            "superpages, modified faults",
            whole(BASE_AND_SUPERPAGES, faults),
        ),
        (
            "exact index",
            sets(BASE_AND_SUPERPAGES, PAGES, SlowProbes::Parallel),
        ),
        (
            "rehash",
            sets(BASE_AND_SUPERPAGES, PAGES, SlowProbes::SmallestFirst),
        ),
        (
            "superpage index",
            sets(SUPERPAGE_INDEX, PAGES, SlowProbes::Parallel),
        ),
        (
            "base-page index",
            sets(BASE_INDEX, PAGES, SlowProbes::Parallel),
        ),
        ("complete-subblock", blocks(COMPLETE)),
        (
            "complete-subblock, preloading",
            blocks(SlowBlocks {
                preload: true,
                ..COMPLETE
            }),
        ),
        ("complete-subblock, sets", sets_of_blocks(COMPLETE)),
        ("partial-subblock", blocks(PARTIAL)),
        (
            "partial-subblock, preloading",
            blocks(SlowBlocks {
                preload: true,
                ..PARTIAL
            }),
        ),
        ("partial-subblock, sets", sets_of_blocks(PARTIAL)),
        (
            "partial-subblock, first tag",
            blocks(SlowBlocks {
                check: SlowCheck::FirstTag,
                ..PARTIAL
            }),
        ),
        (
            "partial-subblock, modified attribute",
            blocks(SlowBlocks {
                modified: SlowModified::Attribute,
                ..PARTIAL
            }),
        ),
        (
            "partial-subblock, runs",
            blocks(SlowBlocks {
                valid: SlowValid::Run,
                ..PARTIAL
            }),
        ),
        (
            "partial-subblock, high bits",
            blocks(SlowBlocks {
                frames: SlowFrames::HighBits,
                ..PARTIAL
            }),
        ),
        ("coalesced", whole(&[(1, 4)], SlowForm::Blocks(COALESCED))),
        (
            "coalesced, sets",
            sets(&[(1, 4)], SlowForm::Blocks(COALESCED), SlowProbes::Parallel),
        ),
    ];
    let mut designs = Vec::new();
    for (name, of) in list {
        designs.push(TimedDesign::new(name, vec![of])?);
    }
    // The oracle has no scattered page here, and ordinary pages lie in sets of ways.
    let scattered = sets(BASE_AND_SUPERPAGES, PAGES, SlowProbes::Parallel);
    let describe = |tables: String| {
        let ways = "replicate = false\nmodified-faults = false\n";
        tables.replace(ways, "organisation = \"scattered\"\n")
    };
    designs.push(TimedDesign::described(
        "scattered",
        vec![scattered],
        describe,
    )?);
    let own = SlowBlocks {
        subblocks: 4,
        own: true,
        ..COMPLETE
    };
    let sizes = [(1, 4), (SUPERPAGE, 4 * SUPERPAGE)];
    let own = whole(&sizes, SlowForm::Blocks(own));
    designs.push(TimedDesign::new(
        "complete-subblock, own blocks",
        vec![own],
    )?);
    Ok(designs)
}

/// Two and three levels.
fn levels() -> Result<Vec<TimedDesign>, Failed> {
    let at = |level, sets, ways| {
        let mut of = SlowStructure::alone(sets, ways, BASE_AND_SUPERPAGES, PAGES);
        of.level = level;
        of.rule = RuleSpec::Fifo;
        of
    };
    let serving = |mut of: SlowStructure, kind| {
        of.serves = vec![kind];
        of
    };
    let filled = |mut of: SlowStructure, fills, inclusive| {
        (of.fills, of.inclusive) = (fills, inclusive);
        of
    };
    let (first, second) = (|| at(1, 1, 16), || at(2, 16, 8));
    let half = |kind| serving(at(1, 1, 16), kind);
    let prefetches = filled(at(1, 1, 8), SlowFills::Prefetches, false);
    let mut walks = second();
    walks.sizes = BASE_AND_SUPERPAGES.to_vec();
    let list = [
        ("two levels", vec![first(), second()]),
        (
            "inclusive",
            vec![first(), filled(second(), SlowFills::Walks, true)],
        ),
        (
            "exclusive",
            vec![first(), filled(second(), SlowFills::Victims, false)],
        ),
        (
            "loads and stores apart",
            vec![
                half(SlowReference::Load),
                half(SlowReference::Store),
                second(),
            ],
        ),
        (
            "one size in two structures",
            vec![first(), second(), second()],
        ),
        ("prefetch buffer", vec![first(), prefetches, second()]),
        ("three levels", vec![first(), second(), at(3, 64, 8)]),
    ];
    let mut designs = Vec::new();
    for (name, structures) in list {
        designs.push(TimedDesign::new(name, structures)?);
    }
    Ok(designs)
}
