//! The pace of a replay: how far a trace is replayed, in bytes of the trace.
//!
//! A replay takes time by visits that differ, not by accesses. A program that fills a table makes
//! many accesses in few bytes of its recording. One that reads the table at random makes few
//! accesses in many bytes. So bytes count, and accesses a little.

use broadleaf_trace::TraceIndex;

use crate::watch::Work;

/// The accesses that take as long as a byte of visits that differ.
const ACCESSES_PER_BYTE: u64 = 512;

/// The bytes of a recording against its accesses, from its index.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReplayPace {
    /// The accesses and the bytes up to the end of each chunk.
    ends: Vec<[u64; 2]>,
}

impl ReplayPace {
    /// Returns the pace of a recording with this index.
    pub(super) fn of(index: &TraceIndex) -> Self {
        let chunks = index.chunks.iter().enumerate();
        let sizes = chunks.map(|(number, chunk)| {
            let (accesses, range) = (chunk.totals.accesses(), index.chunk_range(number));
            let bytes = range.end.saturating_sub(range.start);
            [accesses, bytes + accesses / ACCESSES_PER_BYTE]
        });
        Self::of_chunks(sizes)
    }

    /// Returns the pace of chunks, from the accesses and bytes of each. The bytes of a chunk
    /// without accesses count for the chunk after it.
    fn of_chunks(chunks: impl Iterator<Item = [u64; 2]>) -> Self {
        let mut sums = [0u64; 2];
        let ends = chunks.map(|sizes| {
            sums = [0, 1].map(|at| sums[at].saturating_add(sizes[at]));
            sums
        });
        Self {
            ends: ends.collect(),
        }
    }

    /// Returns the work of the whole recording.
    pub(crate) fn work(&self) -> Work {
        let [accesses, bytes] = self.ends.last().copied().unwrap_or_default();
        Work::Replay { bytes, accesses }
    }

    /// Returns the work before a chunk.
    pub(super) fn before(&self, chunk: usize) -> u64 {
        chunk.checked_sub(1).map_or(0, |last| self.ends[last][1])
    }

    /// Returns the bytes of the first `accesses`. Inside a chunk, bytes are spread evenly.
    pub(crate) fn bytes(&self, accesses: u64) -> u64 {
        let after = self.ends.partition_point(|[end, _]| *end <= accesses);
        let [begin, before] = match after.checked_sub(1) {
            Some(last) => self.ends[last],
            None => [0, 0],
        };
        let Some([end, bytes]) = self.ends.get(after) else {
            return before;
        };
        let share = (accesses - begin) as f64 / (end - begin) as f64;
        before + ((bytes - before) as f64 * share) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_accesses_may_be_a_tenth_of_the_work() {
        let pace = ReplayPace::of_chunks([[0, 2], [500, 8], [500, 90]].into_iter());
        let (bytes, accesses) = (100, 1000);
        assert_eq!(pace.work(), Work::Replay { bytes, accesses });
        for (accesses, bytes) in [(250, 6), (500, 10), (750, 55), (1000, 100)] {
            assert_eq!(pace.bytes(accesses), bytes, "{accesses}");
        }
        assert_eq!(pace.bytes(u64::MAX), 100);
        assert_eq!(ReplayPace::default().bytes(7), 0);
    }
}
