//! Experiments of papers, repeated. Each experiment replays traces under policies, on machines and
//! in memories, and returns a table. The table holds the published figures, ours, and whether our
//! figures agree with each claim of the paper.

pub(crate) mod chen2014;
mod claim;
mod generated;
mod help;
pub(crate) mod navarro2002;
mod programs;
pub(crate) mod recorded;
mod repeat;
mod replay;
pub(crate) mod romer1995;
mod table;
pub(crate) mod talluri1995;
pub(crate) mod zhu2018;

use std::ffi::OsString;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use broadleaf_record::valgrind::{Finished, Options};
use broadleaf_trace::MeasuredEnds;

use crate::failure::Failure;
use crate::watch::Watch;
pub use claim::PaperClaim;
pub use help::{default_cycles, list_of_names, long_help};
pub use repeat::{PaperRequest, RepeatedClaims, repeat};
pub use table::{Table, csv, wrapped};

/// The scale of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// A scale for tests.
    Tiny,
    /// A scale of less than two minutes.
    Quick,
    /// The sizes of the paper, with real programs.
    Full,
}

impl Scale {
    /// The name of the scale.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tiny => "tiny",
            Self::Quick => "quick",
            Self::Full => "full",
        }
    }
}

/// Records the program of the options to a file that does not exist yet.
pub type Record = fn(&Options, &Path) -> Result<Finished<()>, Failure>;

/// Measures the run time of a command with base pages and with huge pages, for a number of rounds.
pub type Measure = fn(&[OsString], NonZero<u32>) -> Result<MeasuredEnds, Failure>;

/// The setting of an experiment.
#[derive(Clone, Debug)]
pub struct PaperSetting {
    /// The scale.
    pub scale: Scale,
    /// The cost of an access that misses no TLB, in cycles: everything that the model omits.
    pub cycles_per_access: f64,
    /// The mechanism of the paper's system that is turned off, if one is.
    pub without: Option<String>,
    /// The folder of recordings of real programs.
    pub folder: Option<PathBuf>,
    /// The folder of a guest, whose recordings hold the kernel's references.
    pub guest: Option<PathBuf>,
    /// Receives the progress.
    pub watch: &'static dyn Watch,
    /// Records a program to a new file.
    pub record: Record,
    /// Measures the run time of a program.
    pub measure: Measure,
}

impl PaperSetting {
    /// A setting for tests: the smallest scale, and no recordings.
    #[cfg(test)]
    pub(crate) fn tiny(cycles_per_access: f64, without: Option<&str>) -> Self {
        Self {
            scale: Scale::Tiny,
            cycles_per_access,
            without: without.map(str::to_owned),
            folder: None,
            guest: None,
            watch: &crate::watch::Unwatched,
            record: |_, _| Err(Failure::failed("tests of experiments record nothing")),
            measure: |_, _| Err(Failure::failed("tests of experiments measure nothing")),
        }
    }

    /// The name of a policy with these parameters, and without the disabled mechanism.
    pub fn policy(&self, name: &str, parameters: &[&str]) -> String {
        let without = self.without.as_ref();
        let without = without.map(|mechanism| format!("without={mechanism}"));
        let given = parameters.iter().map(|parameter| (*parameter).to_owned());
        let given: Vec<String> = given.chain(without).collect();
        if given.is_empty() {
            name.to_owned()
        } else {
            format!("{name}({})", given.join(","))
        }
    }
}

/// One experiment.
pub struct Experiment {
    /// The name of its tables.
    pub tables: &'static [&'static str],
    /// Runs the experiment and returns its tables.
    pub run: fn(&PaperSetting) -> Result<Vec<Table>, Failure>,
    /// True if the experiment needs `--full`.
    pub only_full: bool,
}

/// A paper with repeated experiments.
pub struct Paper {
    /// The name.
    pub name: &'static str,
    /// The title and the venue.
    pub title: &'static str,
    /// The document with its figures, in one word: "paper" or "slides".
    pub source: &'static str,
    /// The subject of the paper, and the peculiarities of its runs, for the help text.
    pub help: &'static str,
    /// The introduction to its tables.
    pub remarks: &'static str,
    /// The default cost of an access that misses no TLB, in cycles. `None` if no result depends on
    /// the cost.
    pub cycles_per_access: Option<f64>,
    /// The policy whose parameter `without` turns off the mechanisms of the paper's system, one at
    /// a time; `None` if there is none.
    pub switches: Option<&'static str>,
    /// True if programs may also be recorded in a guest.
    pub records_guests: bool,
    /// The experiments, in printing order.
    pub experiments: &'static [Experiment],
}

/// All papers.
pub const PAPERS: &[Paper] = &[
    navarro2002::PAPER,
    romer1995::PAPER,
    talluri1995::PAPER,
    chen2014::PAPER,
    zhu2018::PAPER,
];

/// A dash for a missing figure.
fn none() -> String {
    "-".to_owned()
}
