//! Experiments of papers, repeated. Each experiment replays traces under policies, on machines and
//! in memories, and returns a table. The table holds the published figures, ours, and whether our
//! figures agree with each claim of the paper.

mod claim;
mod generated;
pub(crate) mod navarro2002;
mod recorded;
mod repeat;
mod replay;
pub(crate) mod romer1995;
mod table;

use std::path::{Path, PathBuf};

use broadleaf_record::valgrind::{Finished, Options};

use crate::failure::Failure;
use crate::watch::Watch;
pub use claim::Claim;
pub use repeat::{PaperRequest, RepeatedClaims, repeat};
pub use table::{Table, csv, wrapped};

/// How much is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// So little that a test can wait for it.
    Tiny,
    /// Less than two minutes.
    Quick,
    /// The sizes of the paper, and real programs.
    Full,
}

/// Records the program of the options to a file that does not exist yet.
pub type Record = fn(&Options, &Path) -> Result<Finished<()>, Failure>;

/// What an experiment has to know.
#[derive(Clone, Debug)]
pub struct Setting {
    /// How much is done.
    pub scale: Scale,
    /// What an access takes that misses no TLB, in cycles: all that is not modelled.
    pub cycles_per_access: f64,
    /// The mechanism of the paper's system that is turned off, if one is.
    pub without: Option<String>,
    /// Where recordings of real programs are kept.
    pub folder: Option<PathBuf>,
    /// Receives the progress.
    pub watch: &'static dyn Watch,
    /// Records a program to a new file.
    pub record: Record,
}

impl Setting {
    /// The setting of tests: the smallest scale, and no recordings.
    #[cfg(test)]
    pub(crate) fn tiny(cycles_per_access: f64, without: Option<&str>) -> Self {
        Self {
            scale: Scale::Tiny,
            cycles_per_access,
            without: without.map(str::to_owned),
            folder: None,
            watch: &crate::watch::Unwatched,
            record: |_, _| Err(Failure::failed("tests of experiments record nothing")),
        }
    }

    /// The name of a policy with these parameters, and without the mechanism that is turned off.
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
    /// What its tables are called.
    pub tables: &'static [&'static str],
    /// Does it: as many tables.
    pub run: fn(&Setting) -> Result<Vec<Table>, Failure>,
    /// Whether it is only done with `--full`.
    pub only_full: bool,
}

/// A paper whose experiments are done again.
pub struct Paper {
    /// Its name.
    pub name: &'static str,
    /// Its title and where it appeared.
    pub title: &'static str,
    /// The document that its figures are from, as one word: "paper" or "slides".
    pub source: &'static str,
    /// What a reader has to know of all its tables.
    pub remarks: &'static str,
    /// What an access takes that misses no TLB, in cycles, unless one says so.
    pub cycles_per_access: f64,
    /// The policy whose parameter `without` turns the mechanisms of the paper's system off, one at
    /// a time; none where there is no such.
    pub switches: Option<&'static str>,
    /// In the order in which they are printed.
    pub experiments: &'static [Experiment],
}

/// The papers that there are.
pub const PAPERS: &[Paper] = &[navarro2002::PAPER, romer1995::PAPER];
