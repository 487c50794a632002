//! The result record of a map, with names, and no longer than a page can show.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use broadleaf_metrics::{AddressMap, BackingName, MapBlock, MapDecision, MapMapping};
use broadleaf_model::Decided;
use broadleaf_model::map::{BlockHistory, MapKind, RecordedMap, RecordedMapping};
use broadleaf_report::number::grouped;
use broadleaf_units::{PageSize, SpaceId};

use super::fold::{factor, over_time, row, rows, states};
use super::tree::walk_tree;
use crate::advise::places::TracePlaces;

/// The most mappings that a map names.
const MOST_MAPPINGS: usize = 48;
/// The most rows of all mappings.
const MOST_ROWS: usize = 160;
/// The most blocks with a history, and the most lines of all histories.
const MOST_BLOCKS: usize = 200;
const MOST_LINES: usize = 1500;

/// Makes the record of a map.
pub(super) fn address_map(
    policy: &str,
    machine: &str,
    accesses: u64,
    map: &RecordedMap,
    places: &TracePlaces,
) -> AddressMap {
    let mut folded = Vec::new();
    let (listed, rest) = listed(&map.mappings);
    let factor = factor(&listed, MOST_ROWS.max(listed.len()));
    let mut mappings: Vec<MapMapping> = (listed.iter())
        .map(|mapping| mapping_record(mapping, factor, places))
        .collect();
    if !rest.is_empty() {
        folded.push(format!(
            "{} mappings with few walks are one row.",
            rest.len()
        ));
        mappings.push(rest_record(&rest));
    }
    if factor > 1 {
        folded.push(format!(
            "A row is {factor} blocks of 2 MiB, or a part of them."
        ));
    }
    let (blocks, left_out) = blocks(map, &listed);
    if left_out > 0 {
        folded.push(format!(
            "{left_out} blocks with fewer walks and decisions have no history here."
        ));
    }
    folded.push(format!(
        "Time has {} bins of {} accesses.",
        map.bins,
        grouped(map.bin_accesses)
    ));
    AddressMap {
        policy: policy.to_owned(),
        machine: machine.to_owned(),
        accesses,
        bin_accesses: map.bin_accesses,
        bins: map.bins,
        block_bytes: PageSize::SIZE_2M.bytes(),
        mappings,
        blocks,
        walk_tree: walk_tree(policy, &map.mappings, places),
        folded,
    }
}

/// The mappings that the map names, in order, and the others.
fn listed(all: &[RecordedMapping]) -> (Vec<&RecordedMapping>, Vec<&RecordedMapping>) {
    let mut order: Vec<usize> = (0..all.len()).collect();
    let weight = |mapping: &RecordedMapping| {
        let blocks = mapping.blocks.iter();
        let sums = blocks.map(|block| (block.all_walk_cycles(), u64::from(block.touched_pages)));
        sums.fold((0, 0), |sum: (u64, u64), one| {
            (sum.0 + one.0, sum.1 + one.1)
        })
    };
    order.sort_by_key(|at| Reverse(weight(&all[*at])));
    let shown: BTreeSet<usize> = order.into_iter().take(MOST_MAPPINGS).collect();
    let (mut listed, mut rest) = (Vec::new(), Vec::new());
    for (at, mapping) in all.iter().enumerate() {
        match shown.contains(&at) {
            true => listed.push(mapping),
            false => rest.push(mapping),
        }
    }
    (listed, rest)
}

fn mapping_record(mapping: &RecordedMapping, factor: u64, places: &TracePlaces) -> MapMapping {
    let (backing, path) = named(mapping, places);
    let process = places.processes.get(&mapping.space);
    let command = process.and_then(|process| process.command.first());
    let program = command.map_or("", |path| path.rsplit('/').next().unwrap_or(path));
    MapMapping {
        space: mapping.space.0,
        program: program.to_owned(),
        backing,
        path,
        start: mapping.start,
        end: mapping.end,
        rows: rows(&mapping.blocks, factor),
        ..sums(&[mapping])
    }
}

/// Mappings with few walks, as one.
fn rest_record(rest: &[&RecordedMapping]) -> MapMapping {
    let blocks: Vec<_> = rest.iter().flat_map(|mapping| &mapping.blocks).collect();
    MapMapping {
        mappings: Some(rest.len() as u64),
        start: rest.iter().map(|mapping| mapping.start).min().unwrap_or(0),
        end: rest.iter().map(|mapping| mapping.end).max().unwrap_or(0),
        rows: vec![row(blocks.iter().copied(), 1)],
        ..sums(rest)
    }
}

/// The sums over the blocks of mappings.
fn sums(mappings: &[&RecordedMapping]) -> MapMapping {
    let mut sums = MapMapping::default();
    for block in mappings.iter().flat_map(|mapping| &mapping.blocks) {
        let last = block.states.last().copied().unwrap_or_default();
        sums.blocks += 1;
        sums.touched_pages += u64::from(block.touched_pages);
        sums.populated_pages += u64::from(last.populated);
        sums.promoted_pages += u64::from(last.promoted);
        sums.wasted_pages += u64::from(last.wasted);
        sums.walks += block.walks;
        sums.walk_cycles += block.all_walk_cycles();
    }
    sums
}

/// The kind of a mapping, and its file.
pub(super) fn named(
    mapping: &RecordedMapping,
    places: &TracePlaces,
) -> (Option<BackingName>, Option<String>) {
    let path = |file| places.path(mapping.space, file);
    let pools = places.pools.get(&mapping.space);
    match mapping.kind {
        MapKind::Unlisted => (None, None),
        MapKind::Anonymous => match pools.and_then(|pools| pools.static_data(mapping.start)) {
            Some(file) => (Some(BackingName::StaticData), path(file)),
            None => (Some(BackingName::Anonymous), None),
        },
        MapKind::Heap => (Some(BackingName::Heap), None),
        MapKind::Stack => (Some(BackingName::Stack), None),
        MapKind::Shared(_) => (Some(BackingName::SharedMemory), None),
        MapKind::File(file) => (Some(BackingName::File), path(file)),
        MapKind::Kernel => (Some(BackingName::Kernel), None),
    }
}

/// The blocks with most walk cycles and decisions, by address, and the number of the others.
fn blocks(map: &RecordedMap, listed: &[&RecordedMapping]) -> (Vec<MapBlock>, usize) {
    let histories: BTreeMap<(SpaceId, u64), &BlockHistory> = (map.histories.iter())
        .map(|(block, history)| (*block, history))
        .collect();
    let mut parts: BTreeMap<(SpaceId, u64), Vec<(usize, &_)>> = BTreeMap::new();
    for (at, mapping) in listed.iter().enumerate() {
        for block in &mapping.blocks {
            let key = (mapping.space, block.number);
            parts.entry(key).or_default().push((at, block));
        }
    }
    let mut all: Vec<MapBlock> = (parts.iter())
        .map(|((space, number), parts)| {
            let of = || parts.iter().map(|(_, block)| *block);
            let most = parts
                .iter()
                .max_by_key(|(_, block)| block.all_walk_cycles());
            let history = histories.get(&(*space, *number));
            let decisions = history.map_or(&[][..], |history| &history.decisions);
            let counts = history.iter().flat_map(|history| &history.counts);
            MapBlock {
                space: space.0,
                start: number << PageSize::SIZE_2M.shift(),
                mapping: most.map_or(0, |(at, _)| *at as u64),
                first_reference: of().filter_map(|block| block.first_reference).min(),
                touched_pages: of().map(|block| u64::from(block.touched_pages)).sum(),
                walks: of().map(|block| block.walks).sum(),
                walk_cycles: of().map(|block| block.all_walk_cycles()).sum(),
                walk_cycles_over_time: over_time(of()),
                states: states(of()),
                history: decisions.iter().map(decision).collect(),
                history_left_out: history.map_or(0, |history| history.left_out),
                decisions: counts
                    .map(|(decided, count)| (word(*decided).to_owned(), *count))
                    .collect(),
            }
        })
        .collect();
    let count = all.len();
    all.sort_by_key(|block| {
        let decisions: u64 = block.decisions.values().sum();
        Reverse((block.walk_cycles, decisions))
    });
    let mut lines = 0;
    all.truncate(MOST_BLOCKS);
    all.retain(|block| {
        lines += block.history.len();
        lines <= MOST_LINES
    });
    all.sort_by_key(|block| (block.space, block.start));
    let left_out = count - all.len();
    (all, left_out)
}

fn decision(decision: &broadleaf_model::map::BlockDecision) -> MapDecision {
    MapDecision {
        time: decision.time,
        until: decision.until,
        decision: word(decision.decided).to_owned(),
        piece_bytes: decision.size.bytes(),
        count: decision.count,
        populated: [decision.populated, decision.populated_last],
    }
}

/// The name of a decision.
const fn word(decided: Decided) -> &'static str {
    match decided {
        Decided::Promoted => "promoted",
        Decided::Demoted => "demoted",
        Decided::Refused(reason) => reason.name(),
    }
}
