//! From chosen pieces to ranges, the best first.

use std::cmp::Ordering;

use broadleaf_engine::{ChosenPiece, Region};
use broadleaf_metrics::{AdvisedMapping, AdvisedRange, BackingName};
use broadleaf_trace::Backing;

use super::places::Places;
use crate::args::RankBy;

/// Ranges of pieces, which are in order of their addresses: those of one size that stand one behind the other in one mapping are a range.
pub(super) fn ranked(pieces: &[ChosenPiece], places: &Places, by: RankBy) -> Vec<AdvisedRange> {
    let continues = |one: &ChosenPiece, next: &ChosenPiece| {
        one.space == next.space
            && one.size == next.size
            && one.address.checked_add(one.size.bytes()) == Some(next.address)
            && one.region == next.region
    };
    let runs = pieces.chunk_by(continues);
    let mut ranges: Vec<AdvisedRange> = runs.filter_map(|run| range(run, places)).collect();
    ranges.sort_by(|one, other| order(one, other, by));
    ranges
}

/// The best first; of equal ones the one of the lower space, at the lower address.
fn order(one: &AdvisedRange, other: &AdvisedRange, by: RankBy) -> Ordering {
    let by_worth = match by {
        RankBy::Gain => Ordering::Equal,
        RankBy::Byte => other.gained_per_kib.total_cmp(&one.gained_per_kib),
    };
    by_worth
        .then_with(|| other.cycles_gained.cmp(&one.cycles_gained))
        .then_with(|| (one.space, one.start).cmp(&(other.space, other.start)))
}

fn range(run: &[ChosenPiece], places: &Places) -> Option<AdvisedRange> {
    let (first, last) = (run.first()?, run.last()?);
    let sum = |of: fn(&ChosenPiece) -> u64| run.iter().map(of).sum::<u64>();
    let end = last.address.saturating_add(last.size.bytes());
    let gains = run
        .iter()
        .map(|piece| i128::from(piece.walk_cycles_spared) - piece.price);
    let gained = gains.sum::<i128>();
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
        mapping: (first.region.as_ref()).map(|region| mapping(region, first.address, places)),
        walks_spared: sum(|piece| piece.walks_spared),
        walk_cycles_spared: sum(|piece| piece.walk_cycles_spared),
        faults_spared: sum(|piece| piece.faults.saturating_sub(piece.promotions)),
        added_bytes,
        cycles_gained,
        gained_per_kib: per_kib(end.saturating_sub(first.address).max(1)),
        gained_per_added_kib: (added_bytes > 0).then(|| per_kib(added_bytes)),
    })
}

/// What a range lies in that begins at `start`.
fn mapping(region: &Region, start: u64, places: &Places) -> AdvisedMapping {
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
        path: file.and_then(|(file, _)| places.files.get(&file).cloned()),
        offset: file.map(|(_, offset)| offset.saturating_add(start.saturating_sub(region.start))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_units::{FileId, PageSize, SpaceId};

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
            region: Some(Region {
                start: SUPERPAGE,
                end: 64 * SUPERPAGE,
                backing: Backing::Anonymous,
            }),
        }
    }

    fn starts(pieces: &[ChosenPiece], by: RankBy) -> Vec<(u64, u64)> {
        let ranges = ranked(pieces, &Places::default(), by);
        let told = ranges
            .iter()
            .map(|range| (range.start / SUPERPAGE, range.superpages));
        told.collect()
    }

    #[test]
    fn what_stands_together_in_one_mapping_is_a_range() {
        let other_region = ChosenPiece {
            region: None,
            ..piece(4, 60, 0)
        };
        let other_space = ChosenPiece {
            space: SpaceId(1),
            ..piece(5, 30, 0)
        };
        let pieces = [
            piece(1, 300, 0),
            piece(2, 300, 0),
            other_region,
            other_space,
        ];
        assert_eq!(starts(&pieces, RankBy::Gain), [(1, 2), (4, 1), (5, 1)]);
        let apart = [piece(1, 30, 0), piece(3, 60, 0)];
        assert_eq!(starts(&apart, RankBy::Gain), [(3, 1), (1, 1)]);
    }

    #[test]
    fn a_range_sums_up_and_is_ranked_by_what_is_asked() {
        let half = ChosenPiece {
            used_bytes: SUPERPAGE / 2,
            ..piece(2, 60, 1000)
        };
        let pieces = [piece(1, 3000, -96), half, piece(9, 1800, 24)];
        assert_eq!(starts(&pieces, RankBy::Gain), [(1, 2), (9, 1)]);
        assert_eq!(starts(&pieces, RankBy::Byte), [(9, 1), (1, 2)]);
        let ranges = ranked(&pieces, &Places::default(), RankBy::Gain);
        let first = &ranges[0];
        assert_eq!((first.walks_spared, first.walk_cycles_spared), (102, 3060));
        assert_eq!((first.faults_spared, first.added_bytes), (1020, 1 << 20));
        assert_eq!(first.cycles_gained, 3060 + 96 - 1000);
        assert_eq!(first.gained_per_kib, 2156.0 / 4096.0);
        assert_eq!(first.gained_per_added_kib, Some(2156.0 / 1024.0));
        assert_eq!(ranges[1].gained_per_added_kib, None);
    }

    #[test]
    fn a_file_is_told_from_where_the_range_begins() {
        let region = Region {
            start: SUPERPAGE - 4096,
            end: 4 * SUPERPAGE,
            backing: Backing::File {
                file: FileId(3),
                offset: 0x8000,
            },
        };
        let mut places = Places::default();
        places.files.insert(FileId(3), "/data".to_owned());
        let told = mapping(&region, SUPERPAGE, &places);
        assert_eq!(told.path.as_deref(), Some("/data"));
        assert_eq!(told.offset, Some(0x9000));
    }
}
