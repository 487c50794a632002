//! Rows of a map: one block, or several aligned ones together.

use std::collections::BTreeMap;

use broadleaf_metrics::MapRow;
use broadleaf_model::map::{RecordedBlock, RecordedMapping};
use broadleaf_units::PageSize;

/// The rows of a mapping, if a row has `factor` blocks.
pub(super) fn rows(blocks: &[RecordedBlock], factor: u64) -> Vec<MapRow> {
    let mut rows = Vec::new();
    for group in blocks.chunk_by(|one, other| one.number / factor == other.number / factor) {
        rows.push(row(group, factor));
    }
    rows
}

/// The number of blocks of a row: the smallest power of two with at most `most` rows.
pub(super) fn factor(mappings: &[&RecordedMapping], most: usize) -> u64 {
    let mut factor = 1;
    loop {
        let each = mappings
            .iter()
            .map(|mapping| row_count(&mapping.blocks, factor));
        // Addresses have fewer bits than that.
        if each.sum::<usize>() <= most || factor >= 1 << 42 {
            return factor;
        }
        factor *= 2;
    }
}

/// The number of rows of a mapping.
fn row_count(blocks: &[RecordedBlock], factor: u64) -> usize {
    let rows = blocks.chunk_by(|one, other| one.number / factor == other.number / factor);
    rows.count()
}

/// Blocks as one row.
pub(super) fn row<'b>(
    blocks: impl IntoIterator<Item = &'b RecordedBlock> + Clone,
    factor: u64,
) -> MapRow {
    let first = blocks.clone().into_iter().map(|block| block.number).min();
    let all = || blocks.clone().into_iter();
    MapRow {
        start: (first.unwrap_or(0) / factor * factor) << PageSize::SIZE_2M.shift(),
        blocks: all().count() as u64,
        touched_pages: all().map(|block| u64::from(block.touched_pages)).sum(),
        walk_cycles: over_time(all()),
        states: states(all()),
    }
}

/// The cycles of walks of blocks in each bin, without the zeroes at the end.
pub(super) fn over_time<'b>(blocks: impl Iterator<Item = &'b RecordedBlock>) -> Vec<u64> {
    let mut sums = Vec::new();
    for (bin, cycles) in blocks.flat_map(|block| &block.walk_cycles) {
        let bin = *bin as usize;
        if sums.len() <= bin {
            sums.resize(bin + 1, 0);
        }
        sums[bin] += cycles;
    }
    sums
}

/// The changes of the sums over blocks: the bin, and resident, promoted and unreferenced pages.
pub(super) fn states<'b>(blocks: impl Iterator<Item = &'b RecordedBlock>) -> Vec<[u64; 4]> {
    let mut changes: BTreeMap<u32, [i64; 3]> = BTreeMap::new();
    for block in blocks {
        let mut before = [0; 3];
        for state in &block.states {
            let now = [state.populated, state.promoted, state.wasted].map(i64::from);
            let sums = changes.entry(state.bin).or_default();
            for ((sum, now), before) in sums.iter_mut().zip(now).zip(before) {
                *sum += now - before;
            }
            before = now;
        }
    }
    let mut sums = [0; 3];
    let mut states: Vec<[u64; 4]> = Vec::new();
    for (bin, change) in changes {
        for (sum, change) in sums.iter_mut().zip(change) {
            *sum += change;
        }
        let [populated, promoted, wasted] = sums.map(|sum: i64| sum.max(0) as u64);
        let state = [bin.into(), populated, promoted, wasted];
        if change != [0; 3] {
            states.push(state);
        }
    }
    states
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_model::map::BlockState;

    fn block(number: u64, walk_cycles: &[(u32, u64)], states: &[[u32; 4]]) -> RecordedBlock {
        let states = states
            .iter()
            .map(|[bin, populated, promoted, wasted]| BlockState {
                bin: *bin,
                populated: *populated,
                promoted: *promoted,
                wasted: *wasted,
            });
        RecordedBlock {
            number,
            touched_pages: 3,
            walk_cycles: walk_cycles.to_vec(),
            states: states.collect(),
            ..RecordedBlock::default()
        }
    }

    #[test]
    fn a_row_adds_up_its_blocks() {
        let blocks = [
            block(4, &[(0, 7), (2, 1)], &[[0, 10, 0, 0], [3, 512, 512, 500]]),
            block(5, &[(2, 5)], &[[1, 1, 0, 0], [3, 0, 0, 0]]),
            block(9, &[], &[[0, 2, 0, 0]]),
        ];
        let folded = rows(&blocks, 2);
        assert_eq!(folded.len(), row_count(&blocks, 2));
        assert_eq!(folded.len(), 2);
        assert_eq!((folded[0].start, folded[0].blocks), (4 << 21, 2));
        assert_eq!(folded[0].walk_cycles, [7, 0, 6]);
        let states = [[0, 10, 0, 0], [1, 11, 0, 0], [3, 512, 512, 500]];
        assert_eq!(folded[0].states, states);
        assert_eq!(folded[0].touched_pages, 6);
        assert_eq!((folded[1].start, folded[1].states.len()), (8 << 21, 1));
    }
}
