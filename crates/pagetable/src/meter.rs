//! Counting what walks read.

use crate::TableRead;
use crate::seen::SeenValues;

/// What all walks so far read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WalkCounts {
    /// The walks.
    pub walks: u64,
    /// The reads.
    pub reads: u64,
    /// The nodes that were read.
    pub nodes: u64,
    /// The most nodes of one walk.
    pub most_nodes: u64,
    /// The different cache lines of each walk.
    pub lines: u64,
}

impl WalkCounts {
    /// The counts after earlier ones. The most nodes of one walk are those of all walks.
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            walks: self.walks - earlier.walks,
            reads: self.reads - earlier.reads,
            nodes: self.nodes - earlier.nodes,
            most_nodes: self.most_nodes,
            lines: self.lines - earlier.lines,
        }
    }
}

/// Counts the reads of walks in lines of one size.
#[derive(Clone, Debug)]
pub struct WalkMeter {
    line_shift: u32,
    /// The lines of the walk that is counted.
    lines: SeenValues<u64>,
    /// Its reads.
    reads: SeenValues<TableRead>,
    /// The numbers of its lines and of its reads that are in `counts`, and of its nodes there.
    counted: [usize; 3],
    /// The walk ended: the next read begins another.
    ended: bool,
    counts: WalkCounts,
}

impl WalkMeter {
    /// A meter with lines of `1 << line_shift` bytes.
    pub const fn new(line_shift: u32) -> Self {
        Self {
            line_shift,
            lines: SeenValues::new(),
            reads: SeenValues::new(),
            counted: [0; 3],
            ended: false,
            counts: WalkCounts {
                walks: 0,
                reads: 0,
                nodes: 0,
                most_nodes: 0,
                lines: 0,
            },
        }
    }

    /// Counts a read of the walk. A walk of two dimensions may read an entry several times.
    #[inline]
    pub fn read(&mut self, read: TableRead) {
        if std::mem::take(&mut self.ended) {
            self.lines.clear();
            self.reads.clear();
            self.counted = [0; 3];
        }
        self.note(read);
    }

    #[inline]
    fn note(&mut self, read: TableRead) {
        self.reads.push(read);
        let first = read.address >> self.line_shift;
        let last = (read.address + u64::from(read.bytes.max(1)) - 1) >> self.line_shift;
        for line in first..=last {
            if !self.lines.has(&line) {
                self.lines.push(line);
            }
        }
    }

    /// Counts a read for a further page of the walk, unless the walk has read it. The walk may have
    /// ended.
    #[inline]
    pub fn read_beside(&mut self, read: TableRead) {
        if !self.reads.has(&read) {
            self.note(read);
        }
    }

    /// The lines of the walk that are not counted yet: their addresses without the bits inside a
    /// line, in the order of the reads, each once.
    pub fn lines(&self) -> &[u64] {
        &self.lines.values()[self.counted[0]..]
    }

    /// Ends the walk. Returns the number of its lines.
    pub fn end(&mut self) -> u64 {
        self.counts.walks += 1;
        self.ended = true;
        self.end_beside()
    }

    /// Counts the reads for further pages of the walk that ended last. Returns the number of their
    /// lines.
    pub fn end_beside(&mut self) -> u64 {
        let [lines, reads, nodes] = self.counted;
        let all = self.reads.values();
        let more = all[reads..].iter().filter(|read| read.begins_node).count();
        self.counted = [self.lines.values().len(), all.len(), nodes + more];
        let lines = (self.counted[0] - lines) as u64;
        self.counts.lines += lines;
        self.counts.reads += (self.counted[1] - reads) as u64;
        self.counts.nodes += more as u64;
        self.counts.most_nodes = self.counts.most_nodes.max(self.counted[2] as u64);
        lines
    }

    /// Counts a walk that reads as an earlier one read, whose counts these are.
    #[inline]
    pub fn repeat(&mut self, walk: &WalkCounts) {
        self.counts.walks += 1;
        self.counts.reads += walk.reads;
        self.counts.nodes += walk.nodes;
        self.counts.most_nodes = self.counts.most_nodes.max(walk.nodes);
        self.counts.lines += walk.lines;
        // Further pages of the walk would need its lines.
        self.ended = true;
    }

    /// The counts of all walks that ended.
    pub const fn counts(&self) -> WalkCounts {
        self.counts
    }

    /// Counts from zero.
    pub fn begin(&mut self) {
        self.counts = WalkCounts::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_count_once_for_each_walk() {
        let mut meter = WalkMeter::new(6);
        meter.read(TableRead::of_node(0, 16));
        meter.read(TableRead::further(60, 8));
        meter.read(TableRead::of_node(32, 8));
        assert_eq!(meter.end(), 2);
        meter.read(TableRead::of_node(0, 8));
        assert_eq!(meter.end(), 1);
        let counts = WalkCounts {
            walks: 2,
            reads: 4,
            nodes: 3,
            most_nodes: 2,
            lines: 3,
        };
        assert_eq!(meter.counts(), counts);
        let mut repeated = WalkMeter::new(6);
        let walk = WalkCounts {
            walks: 1,
            reads: 3,
            nodes: 2,
            most_nodes: 2,
            lines: 2,
        };
        repeated.repeat(&walk);
        repeated.read(TableRead::of_node(0, 8));
        assert_eq!(repeated.end(), 1);
        assert_eq!(repeated.counts(), counts);
        // Reads of the last walk are not counted again for further pages.
        meter.read_beside(TableRead::of_node(0, 8));
        meter.read_beside(TableRead::of_node(64, 8));
        assert_eq!(meter.lines(), [1]);
        assert_eq!(meter.end_beside(), 1);
        let counts = WalkCounts {
            reads: 5,
            nodes: 4,
            lines: 4,
            ..counts
        };
        assert_eq!(meter.counts(), counts);
    }
}
