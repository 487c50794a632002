//! The run times of a program with base pages and with huge pages, in a trace's header.

use crate::varint::{self, Cursor};

/// The run times of a program at both ends: base pages alone, and huge pages wherever they fit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct MeasuredEnds {
    /// One element for each round: the run with base pages, and the run with huge pages.
    pub rounds: Vec<[EndRun; 2]>,
    /// The cost of page faults on the machine of the runs.
    pub costs: FaultCosts,
}

/// One run of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct EndRun {
    /// Time in user mode, in microseconds.
    pub user_micros: u64,
    /// Time in the kernel, in microseconds.
    pub system_micros: u64,
    /// Time from start to end, in microseconds.
    pub elapsed_micros: u64,
    /// Page faults.
    pub faults: u64,
    /// The peak of resident memory, in bytes.
    pub rss_bytes_peak: u64,
    /// The peak of memory in huge pages, in bytes.
    pub huge_bytes_peak: u64,
}

/// The processor time of page faults, in nanoseconds. 0 stands for a cost that is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FaultCosts {
    /// A fault that maps a zeroed base page, and the removal of the page.
    pub base_nanos: u64,
    /// A fault that maps a zeroed huge page, and the removal of the page.
    pub huge_nanos: u64,
    /// The copy of a block of resident base pages into a huge page: in the program where the
    /// governor made its huge pages, and otherwise in a trial.
    pub collapse_nanos: u64,
}

/// The most rounds that a reader accepts.
const MOST_ROUNDS: u64 = 1 << 16;

impl EndRun {
    const fn fields(&self) -> [u64; 6] {
        [
            self.user_micros,
            self.system_micros,
            self.elapsed_micros,
            self.faults,
            self.rss_bytes_peak,
            self.huge_bytes_peak,
        ]
    }

    fn read(from: &mut Cursor<'_>) -> Result<Self, &'static str> {
        let mut run = Self::default();
        for field in [
            &mut run.user_micros,
            &mut run.system_micros,
            &mut run.elapsed_micros,
            &mut run.faults,
            &mut run.rss_bytes_peak,
            &mut run.huge_bytes_peak,
        ] {
            *field = from.number()?;
        }
        Ok(run)
    }
}

impl MeasuredEnds {
    /// Encodes the content of the header's field.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        let costs = &self.costs;
        for number in [costs.base_nanos, costs.huge_nanos, costs.collapse_nanos] {
            varint::put(out, number);
        }
        varint::put(out, self.rounds.len() as u64);
        for run in self.rounds.as_flattened() {
            for number in run.fields() {
                varint::put(out, number);
            }
        }
    }

    /// Decodes the content of the header's field.
    pub(crate) fn read(from: &mut Cursor<'_>) -> Result<Self, &'static str> {
        let costs = FaultCosts {
            base_nanos: from.number()?,
            huge_nanos: from.number()?,
            collapse_nanos: from.number()?,
        };
        let count = from.number()?;
        if count > MOST_ROUNDS {
            return Err("too many rounds of a measurement");
        }
        let mut rounds = Vec::new();
        for _ in 0..count {
            rounds.push([EndRun::read(from)?, EndRun::read(from)?]);
        }
        Ok(Self { rounds, costs })
    }
}
