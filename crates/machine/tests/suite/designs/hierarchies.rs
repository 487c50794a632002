//! Random hierarchies against the oracle.

use super::differential::{DrawnDesign, compare};
use super::families::{
    TRACES, coalesced, complete, draw_probes, draw_rule, draw_sizes, fully_associative, partial,
};
use broadleaf_oracle::design::{SlowFills, SlowForm, SlowReference, SlowStructure};
use broadleaf_oracle::random::Rng;

const DATA: [SlowReference; 2] = [SlowReference::Load, SlowReference::Store];
const CODE: [SlowReference; 1] = [SlowReference::Fetch];

/// A structure of any organisation that holds at least base pages.
fn any(rng: &mut Rng, level: usize, sizes: &[u64]) -> SlowStructure {
    let mut of = match rng.below(6) {
        0..=2 => {
            let ways = level * (1 + rng.below(5) as usize);
            fully_associative(rng, ways, sizes)
        }
        3 => complete(rng, sizes),
        4 => partial(rng, sizes),
        _ => coalesced(rng, sizes),
    };
    of.level = level;
    of.rule = draw_rule(rng, of.ways);
    if matches!(of.form, SlowForm::Pages { .. }) {
        of.probes = draw_probes(rng);
    }
    of
}

/// The first level: for all data, for loads and stores apart, with instructions, or in turn.
fn first_level(rng: &mut Rng, sizes: &[u64]) -> DrawnDesign {
    let parts: &[&[SlowReference]] = match rng.below(4) {
        0 => &[&DATA],
        1 => &[&DATA[..1], &DATA[1..]],
        2 => &[&DATA, &CODE],
        _ => &[&DATA, &DATA],
    };
    let in_turn = parts.len() == 2 && parts[0] == parts[1];
    let mut drawn = DrawnDesign::new();
    for (number, kinds) in parts.iter().enumerate() {
        // Every size has a place, so the structures are of one set.
        let mut of = any(rng, 1, sizes);
        while of.sizes.len() < sizes.len() {
            of = any(rng, 1, sizes);
        }
        of.serves = kinds.to_vec();
        drawn.push((format!("first-{number}"), of, in_turn));
    }
    drawn
}

/// A lower level: of walks, inclusive, or of victims; for all references or split.
fn lower_level(rng: &mut Rng, level: usize, sizes: &[u64], has_code: bool) -> DrawnDesign {
    let splits = rng.one_in(3);
    let in_turn = !splits && rng.one_in(4);
    let (fills, inclusive) = rng.pick(&[
        (SlowFills::Walks, false),
        (SlowFills::Walks, false),
        (SlowFills::Walks, true),
        (SlowFills::Victims, false),
    ]);
    let in_turn = in_turn && fills == SlowFills::Walks;
    let all = [DATA[0], DATA[1], CODE[0]];
    let all = if has_code { &all[..] } else { &DATA };
    let parts: &[&[SlowReference]] = match (splits, in_turn) {
        (true, _) if has_code => &[&DATA, &CODE],
        (true, _) => &[&DATA[..1], &DATA[1..]],
        (_, true) => &[all, all],
        _ => &[all],
    };
    let mut drawn = DrawnDesign::new();
    for (number, kinds) in parts.iter().enumerate() {
        // Structures that take turns share base pages at least.
        let sizes = if rng.one_in(4) { &sizes[..1] } else { sizes };
        let mut of = any(rng, level, sizes);
        of.serves = kinds.to_vec();
        (of.fills, of.inclusive) = (fills, inclusive);
        drawn.push((format!("level-{level}-{number}"), of, in_turn));
    }
    drawn
}

pub(crate) fn hierarchy(rng: &mut Rng) -> DrawnDesign {
    let sizes = draw_sizes(rng, 16);
    let mut drawn = first_level(rng, &sizes);
    let has_code = drawn.iter().any(|(_, of, _)| of.serves == CODE);
    for level in 2..=1 + rng.below(3) as usize {
        drawn.extend(lower_level(rng, level, &sizes, has_code));
    }
    drawn
}

#[test]
fn levels() {
    compare("levels", 2 * TRACES, hierarchy);
}

#[test]
fn levels_with_prefetch_buffers() {
    compare("prefetch", TRACES, |rng| {
        let mut drawn = hierarchy(rng);
        let sizes: Vec<u64> = drawn[0].1.sizes.iter().map(|(size, _)| *size).collect();
        let ways = 1 + rng.below(4) as usize;
        let mut of = fully_associative(rng, ways, &sizes);
        of.fills = SlowFills::Prefetches;
        of.rule = draw_rule(rng, of.ways);
        of.level = drawn[drawn.len() - 1]
            .1
            .level
            .min(1 + rng.below(2) as usize);
        drawn.push(("prefetched".to_owned(), of, false));
        drawn
    });
}
