//! Stretches of plain references: most records of most traces.

use broadleaf_trace::{DataAccess, Fold};

use super::file::{FileRecords, ThreadFile};
use super::merge::Maker;
use super::record::{RECORD_BYTES, code, fields, is_instruction};
use crate::batch::ImportBatch;
use crate::import::ImportCounts;

/// The records that are read at once, at most.
const MOST_RECORDS: usize = 8 << 10;

impl Maker {
    /// Makes visits of the records that come next, as long as they are loads, stores and
    /// instructions of a program whose physical places are not kept. Stops before a record that has
    /// an error or no bytes, and when the batch has `goal` visits. The thread of the records runs.
    pub(super) fn plain_records(
        &mut self,
        file: &mut ThreadFile,
        goal: usize,
        batch: &mut ImportBatch,
    ) {
        let FileRecords::Open(records) = &mut file.records else {
            return;
        };
        let is_in_head = records.count() <= file.head.records;
        if is_in_head || file.in_kernel || self.physical.is_some() {
            return;
        }
        let some = records.buffered();
        let some = &some[..some.len().min(MOST_RECORDS)];
        let (mut stretch, fold) = (PlainCounts::default(), &mut self.fold);
        let read = match self.fetches {
            true => stretch.read::<true>(some, fold, (batch, goal)),
            false => stretch.read::<false>(some, fold, (batch, goal)),
        };
        if read == 0 {
            return;
        }
        records.pass(read);
        file.has_ended = false;
        if let Some((address, size)) = stretch.last_instruction {
            file.pointer = address;
            file.next_pointer = address.wrapping_add(u64::from(size));
        }
        self.counts.records += read as u64;
        stretch.add_to(&mut self.counts);
    }
}

/// The number of instructions that were fetched before the first other record. With size 0, a
/// record is no fetch.
#[inline]
fn instructions_at_start(records: &[[u8; RECORD_BYTES]]) -> usize {
    let is_other = |bytes: &[u8; RECORD_BYTES]| {
        let (kind, size, _) = fields(bytes);
        !is_instruction(kind) || size == 0
    };
    records.iter().position(is_other).unwrap_or(records.len())
}

/// The counts of a stretch.
#[derive(Default)]
struct PlainCounts {
    loads: u64,
    stores: u64,
    instructions: u64,
    /// The address and the size of the last instruction.
    last_instruction: Option<(u64, u16)>,
}

impl PlainCounts {
    /// Returns the number of records that were read.
    fn read<const FETCHES: bool>(
        &mut self,
        records: &[[u8; RECORD_BYTES]],
        fold: &mut Fold,
        (batch, goal): (&mut ImportBatch, usize),
    ) -> usize {
        let visits = &mut batch.visits;
        // Counted here and added at the end, so that the loop keeps the numbers in registers.
        let (mut loads, mut stores, mut instructions) = (0, 0, 0);
        let mut last_instruction = None;
        let mut read = 0;
        while visits.len() < goal {
            // Instructions without a fetch are most records, and need no more than a count.
            let rest = &records[read..];
            // Each fetch may be a visit.
            let most = match FETCHES {
                true => rest.len().min(goal - visits.len()),
                false => rest.len(),
            };
            let run = instructions_at_start(&rest[..most]);
            if run > 0 {
                last_instruction = Some(read + run - 1);
                instructions += run as u64;
                if FETCHES {
                    for bytes in &rest[..run] {
                        fold.fetch(fields(bytes).2, visits);
                    }
                } else {
                    // At most the records of a buffer.
                    fold.instructions(run as u32);
                }
                read += run;
                if run == most {
                    continue;
                }
            }
            let Some(bytes) = records.get(read) else {
                break;
            };
            let (kind, size, address) = fields(bytes);
            let reach = u64::from(size).checked_sub(1);
            let last = reach.and_then(|reach| address.checked_add(reach));
            let access = match kind {
                code::LOAD => DataAccess::Load,
                code::STORE => DataAccess::Store,
                _ => break,
            };
            let Some(last) = last else { break };
            match access {
                DataAccess::Load => loads += 1,
                DataAccess::Store => stores += 1,
            }
            fold.access(access, address, last, visits);
            read += 1;
        }
        self.loads = loads;
        self.stores = stores;
        self.instructions = instructions;
        self.last_instruction = last_instruction.map(|at: usize| {
            let (_, size, address) = fields(&records[at]);
            (address, size)
        });
        read
    }

    fn add_to(&self, counts: &mut ImportCounts) {
        counts.loads += self.loads;
        counts.stores += self.stores;
        counts.instructions += self.instructions;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_trace::Grain;

    /// The records of fetches, each of another page than the one before, or all of one page.
    fn fetches(count: u64, of_one_page: bool) -> Vec<[u8; RECORD_BYTES]> {
        let record = |number: u64| {
            let page = if of_one_page { 0 } else { number };
            let mut bytes = [0; RECORD_BYTES];
            bytes[0] = 10;
            bytes[2] = 4;
            bytes[4..].copy_from_slice(&(page << 12).to_le_bytes());
            bytes
        };
        (0..count).map(record).collect()
    }

    /// Fetches that are visits of their own stop at the goal. Those of one visit are all read.
    #[test]
    fn a_run_of_fetches_stops_at_the_goal() {
        const GOAL: usize = 10;
        for (of_one_page, expected) in [(false, GOAL + 1), (true, 1000)] {
            let (mut batch, mut fold) = (ImportBatch::default(), Fold::new(Grain::Page));
            let records = fetches(1000, of_one_page);
            let mut counts = PlainCounts::default();
            let read = counts.read::<true>(&records, &mut fold, (&mut batch, GOAL));
            assert_eq!(read, expected);
            assert_eq!(counts.instructions, expected as u64);
            assert!(batch.visits.len() <= GOAL, "{}", batch.visits.len());
            let last = counts.last_instruction.expect("a fetch");
            let page = if of_one_page { 0 } else { expected as u64 - 1 };
            assert_eq!(last, (page << 12, 4));
        }
    }
}
