//! Each family of designs of one level against the oracle, with random parameters.

use super::differential::{DrawnDesign, compare};
use broadleaf_oracle::RuleSpec;
use broadleaf_oracle::design::{
    SlowBlocks, SlowCheck, SlowForm, SlowFrames, SlowModified, SlowProbes, SlowStructure, SlowValid,
};
use broadleaf_oracle::random::Rng;
use broadleaf_tlb::{REPLACEMENTS, Replacement};

/// The traces of a family.
pub(crate) const TRACES: u64 = 1000;

/// A rule that sets of this number of ways can have.
pub(crate) fn draw_rule(rng: &mut Rng, ways: usize) -> RuleSpec {
    let fits = |rule: &&&Replacement| (rule.refuses)(ways).is_none();
    let rules: Vec<&Replacement> = REPLACEMENTS.iter().filter(fits).copied().collect();
    let rule = rng.pick(&rules);
    let parameter = rule.parameters.first().map(|parameter| {
        let (least, most) = parameter.range().expect("a number");
        least + rng.below((most - least).min(1000))
    });
    let spec = RuleSpec::named(rule.described.name, parameter);
    spec.unwrap_or_else(|| panic!("the oracle does not know {rule:?}"))
}

fn draw_flag(rng: &mut Rng) -> bool {
    rng.one_in(2)
}

/// Base pages and some superpage sizes.
pub(crate) fn draw_sizes(rng: &mut Rng, largest: u64) -> Vec<u64> {
    let all = [2, 4, 8, 16].into_iter().filter(|size| *size <= largest);
    let more: Vec<u64> = all.filter(|_| draw_flag(rng)).collect();
    [vec![1], more].concat()
}

fn alone(mut of: SlowStructure, rng: &mut Rng) -> DrawnDesign {
    of.rule = draw_rule(rng, of.ways);
    vec![("dtlb".to_owned(), of, false)]
}

/// A fully associative superpage TLB.
pub(crate) fn fully_associative(rng: &mut Rng, ways: usize, sizes: &[u64]) -> SlowStructure {
    let sizes: Vec<(u64, u64)> = sizes.iter().map(|size| (*size, *size)).collect();
    let faults = draw_flag(rng);
    SlowStructure::alone(1, ways, &sizes, SlowForm::Pages { faults })
}

#[test]
fn fully_associative_superpages() {
    compare("superpages", TRACES, |rng| {
        let sizes = draw_sizes(rng, 16);
        let ways = 1 + rng.below(12) as usize;
        let of = fully_associative(rng, ways, &sizes);
        alone(of, rng)
    });
}

/// Sets with a base-page, a superpage or an exact index.
pub(crate) fn sets_of_two_sizes(rng: &mut Rng, large: u64) -> SlowStructure {
    let exact = [(1, 1), (large, large)];
    let superpage = [(1, large), (large, large)];
    let base = [(1, 1), (large, 1)];
    let sizes = rng.pick(&[exact, superpage, base]);
    let (sets, ways) = (rng.pick(&[2, 4, 8]), 1 + rng.below(4) as usize);
    let faults = draw_flag(rng);
    let mut of = SlowStructure::alone(sets, ways, &sizes, SlowForm::Pages { faults });
    of.probes = draw_probes(rng);
    of
}

pub(crate) fn draw_probes(rng: &mut Rng) -> SlowProbes {
    rng.pick(&[
        SlowProbes::Parallel,
        SlowProbes::LargestFirst,
        SlowProbes::SmallestFirst,
    ])
}

#[test]
fn sets_with_base_superpage_and_exact_index() {
    compare("sets", TRACES, |rng| {
        let large = rng.pick(&[2, 4, 8, 16]);
        let of = sets_of_two_sizes(rng, large);
        alone(of, rng)
    });
}

/// A structure of any organisation.
pub(crate) fn any_form(rng: &mut Rng) -> SlowStructure {
    let sizes = draw_sizes(rng, 16);
    match rng.below(5) {
        0 => {
            let ways = 1 + rng.below(12) as usize;
            fully_associative(rng, ways, &sizes)
        }
        1 => {
            let large = rng.pick(&[2, 4, 8, 16]);
            sets_of_two_sizes(rng, large)
        }
        2 => complete(rng, &sizes),
        3 => partial(rng, &sizes),
        _ => coalesced(rng, &sizes),
    }
}

#[test]
fn split_structures() {
    compare("split structures", TRACES, |rng| {
        let large = rng.pick(&[2, 4, 8, 16]);
        let mut drawn = Vec::new();
        for size in [1, large] {
            let (sets, ways) = (rng.pick(&[1, 2, 4]), 1 + rng.below(4) as usize);
            let faults = draw_flag(rng);
            let form = SlowForm::Pages { faults };
            let mut of = SlowStructure::alone(sets, ways, &[(size, size)], form);
            of.rule = draw_rule(rng, of.ways);
            drawn.push((format!("dtlb-{size}"), of, false));
        }
        drawn
    });
}

const COMPLETE: SlowBlocks = SlowBlocks {
    subblocks: 4,
    own: false,
    preload: false,
    page_alone: false,
    check: SlowCheck::Full,
    modified: SlowModified::Page,
    valid: SlowValid::Vector,
    frames: SlowFrames::Any,
    shares_rights: false,
};

/// A structure whose sizes share one index above the block. Larger pages have their own index.
fn of_blocks(rng: &mut Rng, blocks: SlowBlocks, sizes: &[u64]) -> SlowStructure {
    let (sets, ways) = match draw_flag(rng) {
        true => (1, 1 + rng.below(8) as usize),
        false => (rng.pick(&[2, 4]), 1 + rng.below(4) as usize),
    };
    let index = |size: &u64| (*size, blocks.subblocks.max(*size));
    let sizes: Vec<(u64, u64)> = sizes.iter().map(index).collect();
    SlowStructure::alone(sets, ways, &sizes, SlowForm::Blocks(blocks))
}

pub(crate) fn complete(rng: &mut Rng, sizes: &[u64]) -> SlowStructure {
    let blocks = SlowBlocks {
        subblocks: rng.pick(&[2, 4, 8, 16]),
        preload: draw_flag(rng),
        page_alone: draw_flag(rng),
        ..COMPLETE
    };
    of_blocks(rng, blocks, sizes)
}

#[test]
fn complete_subblocks() {
    compare("complete-subblock", TRACES, |rng| {
        let sizes = draw_sizes(rng, 16);
        let of = complete(rng, &sizes);
        alone(of, rng)
    });
}

#[test]
fn complete_subblocks_of_each_size() {
    compare("own blocks", TRACES, |rng| {
        let subblocks = rng.pick(&[2, 4]);
        let blocks = SlowBlocks {
            subblocks,
            own: true,
            preload: draw_flag(rng),
            page_alone: draw_flag(rng),
            ..COMPLETE
        };
        let (sets, ways) = (rng.pick(&[1, 2, 4]), 1 + rng.below(6) as usize);
        let sizes = draw_sizes(rng, 16);
        let sizes: Vec<(u64, u64)> = sizes.iter().map(|size| (*size, size * subblocks)).collect();
        let mut of = SlowStructure::alone(sets, ways, &sizes, SlowForm::Blocks(blocks));
        of.probes = draw_probes(rng);
        alone(of, rng)
    });
}

pub(crate) fn partial(rng: &mut Rng, sizes: &[u64]) -> SlowStructure {
    let blocks = SlowBlocks {
        subblocks: rng.pick(&[2, 4, 8, 16]),
        own: false,
        preload: draw_flag(rng),
        page_alone: draw_flag(rng),
        check: rng.pick(&[SlowCheck::Full, SlowCheck::FirstTag, SlowCheck::Never]),
        modified: rng.pick(&[
            SlowModified::Block,
            SlowModified::Attribute,
            SlowModified::Page,
        ]),
        valid: rng.pick(&[SlowValid::Vector, SlowValid::Run]),
        frames: rng.pick(&[SlowFrames::Placed, SlowFrames::HighBits]),
        shares_rights: draw_flag(rng),
    };
    of_blocks(rng, blocks, sizes)
}

#[test]
fn partial_subblocks() {
    compare("partial-subblock", 2 * TRACES, |rng| {
        let sizes = draw_sizes(rng, 16);
        let of = partial(rng, &sizes);
        alone(of, rng)
    });
}

pub(crate) fn coalesced(rng: &mut Rng, sizes: &[u64]) -> SlowStructure {
    let blocks = SlowBlocks {
        subblocks: rng.pick(&[2, 4, 8]),
        preload: true,
        check: SlowCheck::Never,
        valid: SlowValid::Whole,
        frames: SlowFrames::Placed,
        shares_rights: true,
        ..COMPLETE
    };
    of_blocks(rng, blocks, sizes)
}

#[test]
fn coalesced_entries() {
    compare("coalesced", TRACES, |rng| {
        let sizes = draw_sizes(rng, 16);
        let of = coalesced(rng, &sizes);
        alone(of, rng)
    });
}
