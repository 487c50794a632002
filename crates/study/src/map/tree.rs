//! Walk cycles by mapping, range and allocation site.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use broadleaf_metrics::{BackingName, WalkNode};
use broadleaf_model::map::{RecordedBlock, RecordedMapping};
use broadleaf_report::number::size;
use broadleaf_units::{PageSize, SpaceId};

use super::fold::factor;
use super::record::named;
use crate::advise::places::TracePlaces;

/// The most ranges of a mapping.
const MOST_RANGES: usize = 8;
/// The most parts of a part.
const MOST_PARTS: usize = 24;
/// Parts with less than this share of all cycles, in thousandths, are added up.
const LEAST_THOUSANDTHS: u64 = 1;

/// The tree of walk cycles.
pub(super) fn walk_tree(
    policy: &str,
    mappings: &[RecordedMapping],
    places: &TracePlaces,
) -> WalkNode {
    let spaces = mappings.chunk_by(|one, other| one.space == other.space);
    let mut programs: Vec<WalkNode> = spaces
        .map(|mappings| {
            let parts = mappings.iter().map(|one| of_mapping(one, places));
            let space = mappings.first().map_or(SpaceId(0), |one| one.space);
            node(program(space, places), "program", parts.collect())
        })
        .collect();
    let mut root = match programs.len() {
        1 => programs.remove(0),
        _ => node("all programs".to_owned(), "program", programs),
    };
    root.name = format!("{} under {policy}", root.name);
    let least = root.walk_cycles * LEAST_THOUSANDTHS / 1000;
    prune(&mut root, least);
    root
}

fn program(space: SpaceId, places: &TracePlaces) -> String {
    let process = places.processes.get(&space);
    let command = process.and_then(|process| process.command.first());
    match (command, process) {
        (Some(path), Some(process)) => {
            let name = path.rsplit('/').next().unwrap_or(path);
            format!("{name} ({})", process.pid)
        }
        _ => "the program".to_owned(),
    }
}

fn node(name: String, kind: &str, parts: Vec<WalkNode>) -> WalkNode {
    WalkNode {
        name,
        kind: kind.to_owned(),
        walk_cycles: parts.iter().map(|part| part.walk_cycles).sum(),
        parts,
    }
}

fn of_mapping(mapping: &RecordedMapping, places: &TracePlaces) -> WalkNode {
    let factor = factor(&[mapping], MOST_RANGES);
    let (backing, path) = named(mapping, places);
    let file = path
        .as_deref()
        .map(|path| path.rsplit('/').next().unwrap_or(path));
    let name = match (backing, file) {
        (Some(BackingName::File), Some(file)) => file.to_owned(),
        (Some(backing), Some(file)) => format!("{} of {file}", backing.words()),
        (Some(backing), None) => backing.words().to_owned(),
        (None, _) => "memory".to_owned(),
    };
    let groups = mapping
        .blocks
        .chunk_by(|one, other| one.number / factor == other.number / factor);
    let ranges = groups.map(|blocks| {
        let start = blocks
            .first()
            .map_or(0, |block| block.number / factor * factor);
        let end = blocks.last().map_or(0, |block| block.number + 1);
        let address = |block: u64| block << PageSize::SIZE_2M.shift();
        let cycles: u64 = blocks.iter().map(RecordedBlock::all_walk_cycles).sum();
        let parts = of_sites(mapping.space, blocks, places);
        let name = format!("{:#x}, {}", address(start), size(address(end - start)));
        WalkNode {
            walk_cycles: cycles,
            ..node(name, "range", parts)
        }
    });
    let ranges = ranges.collect();
    let name = format!("{name} at {:#x}", mapping.start);
    node(name, "mapping", ranges)
}

/// The allocation sites of blocks; none if the trace has no sites. The cycles of a page are divided
/// among its sites by their bytes in the page.
fn of_sites(space: SpaceId, blocks: &[RecordedBlock], places: &TracePlaces) -> Vec<WalkNode> {
    if !places.has_sites() {
        return Vec::new();
    }
    let mut sites: BTreeMap<String, u64> = BTreeMap::new();
    for block in blocks {
        for (page, cycles) in &block.of_pages {
            let first = block.number << PageSize::SIZE_2M.shift();
            let start = first + (u64::from(*page) << PageSize::SIZE_4K.shift());
            let shares = places.sites_of(space, start, start + PageSize::SIZE_4K.bytes());
            let all: u64 = shares.iter().map(|(_, bytes)| bytes).sum();
            let mut left = *cycles;
            for (site, bytes) in &shares {
                let share =
                    (u128::from(*cycles) * u128::from(*bytes) / u128::from(all.max(1))) as u64;
                *sites.entry(site.clone()).or_default() += share;
                left -= share;
            }
            // The cycles that the division leaves belong to the first site.
            let rest = shares.first().map_or("no known site", |(site, _)| site);
            *sites.entry(rest.to_owned()).or_default() += left;
        }
    }
    let nodes = sites.into_iter().filter(|(_, cycles)| *cycles > 0);
    nodes
        .map(|(name, walk_cycles)| WalkNode {
            walk_cycles,
            ..node(name, "site", Vec::new())
        })
        .collect()
}

/// Sorts parts, and adds small ones up.
fn prune(whole: &mut WalkNode, least: u64) {
    let parts = &mut whole.parts;
    parts.retain(|part| part.walk_cycles > 0);
    parts.sort_by_key(|part| Reverse(part.walk_cycles));
    let large = parts.partition_point(|part| part.walk_cycles >= least.max(1));
    let kept = large.min(MOST_PARTS);
    if parts.len() > kept + 1 {
        let rest = parts.split_off(kept);
        let name = format!("{} smaller parts", rest.len());
        parts.push(WalkNode {
            walk_cycles: rest.iter().map(|part| part.walk_cycles).sum(),
            ..node(name, "rest", Vec::new())
        });
    }
    parts.iter_mut().for_each(|part| prune(part, least));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_parts_are_added_up_and_sums_stay() {
        let leaf = |cycles| WalkNode {
            walk_cycles: cycles,
            ..node(String::new(), "range", Vec::new())
        };
        let mut root = node(
            "all".to_owned(),
            "mapping",
            [5, 900, 0, 3, 92].map(leaf).to_vec(),
        );
        let all = root.walk_cycles;
        prune(&mut root, 10);
        let parts: Vec<(u64, &str)> = (root.parts.iter())
            .map(|part| (part.walk_cycles, part.kind.as_str()))
            .collect();
        assert_eq!(parts, [(900, "range"), (92, "range"), (8, "rest")]);
        assert_eq!(parts.iter().map(|(cycles, _)| cycles).sum::<u64>(), all);
    }
}
