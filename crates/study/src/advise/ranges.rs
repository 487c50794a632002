//! The chosen superpages by range, the best first.

use std::cmp::Ordering;

use broadleaf_metrics::{AdvisedMapping, AdvisedRange, BackingName};
use broadleaf_model::{Choice, ChosenPiece, ChosenRange, MappedRegion};
use broadleaf_trace::Backing;
use broadleaf_units::{FileId, SpaceId};

use super::RankBy;
use super::places::TracePlaces;

/// Returns the ranges of a choice, in this order.
pub(super) fn ranked(choice: &Choice, places: &TracePlaces, by: RankBy) -> Vec<AdvisedRange> {
    let ranges = choice.ranges.iter();
    let advised_ranges =
        ranges.filter_map(|range| advised(range, choice.pieces.get(range.pieces.clone())?, places));
    let mut ranges: Vec<AdvisedRange> = advised_ranges.collect();
    ranges.sort_by(|one, other| order(one, other, by));
    ranges
}

/// Orders ranges, the best first. Ties go to the lower space, then the lower address.
fn order(one: &AdvisedRange, other: &AdvisedRange, by: RankBy) -> Ordering {
    let by_worth = match by {
        RankBy::Gain => Ordering::Equal,
        RankBy::Byte => other.gained_per_kib.total_cmp(&one.gained_per_kib),
    };
    by_worth
        .then_with(|| other.cycles_gained.cmp(&one.cycles_gained))
        .then_with(|| (one.space, one.start).cmp(&(other.space, other.start)))
}

fn advised(range: &ChosenRange, run: &[ChosenPiece], places: &TracePlaces) -> Option<AdvisedRange> {
    let (first, last) = (run.first()?, run.last()?);
    let sum = |of: fn(&ChosenPiece) -> u64| run.iter().map(of).sum::<u64>();
    let end = last.address.saturating_add(last.size.bytes());
    let gained = i128::from(range.walk_cycles_spared) - range.price;
    let cycles_gained = gained.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
    let added_bytes = sum(|piece| piece.size.bytes().saturating_sub(piece.used_bytes));
    let per_kib = |bytes: u64| cycles_gained as f64 * 1024.0 / bytes as f64;
    let process = places.processes.get(&first.space);
    Some(AdvisedRange {
        space: first.space.0,
        pid: process.map(|process| process.pid),
        command: process.map_or_else(Vec::new, |process| process.command.clone()),
        start: first.address,
        end,
        superpage_bytes: first.size.bytes(),
        superpages: run.len() as u64,
        mapping: (first.region.as_ref())
            .map(|region| mapping(region, first.space, first.address, places)),
        walks_spared: range.walks_spared,
        walk_cycles_spared: range.walk_cycles_spared,
        faults_spared: sum(|piece| piece.faults.saturating_sub(piece.promotions)),
        added_bytes,
        cycles_gained,
        gained_per_kib: per_kib(end.saturating_sub(first.address).max(1)),
        gained_per_added_kib: (added_bytes > 0).then(|| per_kib(added_bytes)),
    })
}

/// The mapping of a range that begins at `start`.
fn mapping(
    region: &MappedRegion,
    space: SpaceId,
    start: u64,
    places: &TracePlaces,
) -> AdvisedMapping {
    let path = |file: FileId| places.path(space, file);
    let pools = places.pools.get(&space);
    if region.backing == Backing::Anonymous
        && let Some(file) = pools.and_then(|pools| pools.static_data(start))
    {
        return AdvisedMapping {
            backing: BackingName::StaticData,
            start: region.start,
            end: region.end,
            path: path(file),
            offset: None,
        };
    }
    let (backing, file) = match region.backing {
        Backing::Anonymous => (BackingName::Anonymous, None),
        Backing::Heap => (BackingName::Heap, None),
        Backing::Stack => (BackingName::Stack, None),
        Backing::SharedMemory => (BackingName::SharedMemory, None),
        Backing::File { file, offset } => (BackingName::File, Some((file, offset))),
        Backing::Kernel => (BackingName::Kernel, None),
    };
    AdvisedMapping {
        backing,
        start: region.start,
        end: region.end,
        path: file.and_then(|(file, _)| path(file)),
        offset: file.map(|(_, offset)| offset.saturating_add(start.saturating_sub(region.start))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_units::PageSize;

    const SUPERPAGE: u64 = 2 << 20;

    fn piece(number: u64, spared: u64, price: i128) -> ChosenPiece {
        ChosenPiece {
            space: SpaceId(0),
            address: number * SUPERPAGE,
            size: PageSize::SIZE_2M,
            used_bytes: SUPERPAGE,
            faults: 512,
            promotions: 2,
            walks_spared: spared / 30,
            walk_cycles_spared: spared,
            price,
            region: Some(MappedRegion {
                start: SUPERPAGE,
                end: 64 * SUPERPAGE,
                backing: Backing::Anonymous,
            }),
        }
    }

    /// A choice of these pieces, in ranges of these lengths. A range of several pieces saves a
    /// hundred cycles less than their sum.
    fn choice(pieces: &[ChosenPiece], lengths: &[usize]) -> Choice {
        let mut at = 0;
        let ranges = lengths.iter().map(|length| {
            let pieces_of = at..at + length;
            at += length;
            let spared: u64 = (pieces[pieces_of.clone()].iter())
                .map(|piece| piece.walk_cycles_spared)
                .sum();
            ChosenRange {
                walks_spared: spared / 30,
                walk_cycles_spared: spared - if *length > 1 { 100 } else { 0 },
                price: pieces[pieces_of.clone()]
                    .iter()
                    .map(|piece| piece.price)
                    .sum(),
                pieces: pieces_of,
            }
        });
        Choice {
            left: Vec::new(),
            policy: String::new(),
            machine: String::new(),
            trials: 1,
            cycles_without: 0,
            cycles: 0,
            ranges: ranges.collect(),
            pieces: pieces.to_vec(),
        }
    }

    #[test]
    fn a_range_sums_its_pieces_and_has_the_requested_rank() {
        let half = ChosenPiece {
            used_bytes: SUPERPAGE / 2,
            ..piece(2, 60, 1000)
        };
        let pieces = [piece(1, 3000, -96), half, piece(9, 1800, 24)];
        let choice = choice(&pieces, &[2, 1]);
        let ranked = |by| ranked(&choice, &TracePlaces::default(), by);
        let starts = |by| -> Vec<u64> { ranked(by).iter().map(|range| range.start).collect() };
        assert_eq!(starts(RankBy::Gain), [SUPERPAGE, 9 * SUPERPAGE]);
        assert_eq!(starts(RankBy::Byte), [9 * SUPERPAGE, SUPERPAGE]);
        let ranges = ranked(RankBy::Gain);
        let first = &ranges[0];
        assert_eq!((first.end, first.superpages), (3 * SUPERPAGE, 2));
        assert_eq!((first.walks_spared, first.walk_cycles_spared), (102, 2960));
        assert_eq!((first.faults_spared, first.added_bytes), (1020, 1 << 20));
        assert_eq!(first.cycles_gained, 2960 + 96 - 1000);
        assert_eq!(first.gained_per_kib, 2056.0 / 4096.0);
        assert_eq!(first.gained_per_added_kib, Some(2056.0 / 1024.0));
        assert_eq!(ranges[1].gained_per_added_kib, None);
    }

    #[test]
    fn a_file_offset_is_that_of_the_range_s_start() {
        let region = MappedRegion {
            start: SUPERPAGE - 4096,
            end: 4 * SUPERPAGE,
            backing: Backing::File {
                file: FileId(3),
                offset: 0x8000,
            },
        };
        let mut places = TracePlaces::default();
        places.files.insert(FileId(3), "/data".to_owned());
        let found = mapping(&region, SpaceId(0), SUPERPAGE, &places);
        assert_eq!(found.path.as_deref(), Some("/data"));
        assert_eq!(found.offset, Some(0x9000));
    }
}
