//! The results of a program, and the file that keeps them beside its recording.

use std::fs::File;
use std::io::{BufReader, Write as _};
use std::path::{Path, PathBuf};

use broadleaf_metrics::CellResult;
use serde::{Deserialize, Serialize};

use super::block_uses::BlockUse;
use super::curves::MissCurve;
use crate::failure::{Failure, reason};
use crate::output::shown;
use crate::provenance::made_by;

/// The results of a program. Each part is empty until it is there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct KeptResults {
    /// The program that made the results, with its version. Others are made again.
    pub(super) by: String,
    pub(super) command: String,
    pub(super) references: u64,
    /// The results of all policies on the thesis's machine.
    pub(super) cells: Vec<CellResult>,
    /// The results of two policies on machines with one DTLB for both page sizes.
    pub(super) unified: Vec<CellResult>,
    pub(super) blocks: Vec<BlockUse>,
    pub(super) curves: Vec<MissCurve>,
}

/// The file of results beside a recording, so that an interrupted run goes on where it ended.
#[derive(Clone, Debug)]
pub(super) struct ResultsFile(PathBuf);

impl ResultsFile {
    /// The file of a recording.
    pub(super) fn beside(recording: &Path) -> Self {
        Self(recording.with_extension("results.json"))
    }

    /// The results of an earlier run. Empty if there are none, or those of another version.
    pub(super) fn read(&self) -> KeptResults {
        let read = || {
            let file = BufReader::new(File::open(&self.0).ok()?);
            serde_json::from_reader::<_, KeptResults>(file).ok()
        };
        let kept = read().filter(|kept| kept.by == made_by("results"));
        kept.unwrap_or_default()
    }

    /// Writes the results. The file is replaced as a whole.
    pub(super) fn write(&self, results: &mut KeptResults) -> Result<(), Failure> {
        results.by = made_by("results");
        let write = || {
            let folder = self.0.parent().unwrap_or(Path::new("."));
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(serde_json::to_string(results)?.as_bytes())?;
            file.persist(&self.0).map_err(|error| error.error)?;
            Ok(())
        };
        let written: std::io::Result<()> = write();
        written.map_err(|error| Failure::Failed(format!("{}: {}", shown(&self.0), reason(&error))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_again_and_those_of_other_versions_are_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = ResultsFile::beside(&folder.path().join("program.bl"));
        assert_eq!(file.read(), KeptResults::default());
        let cell = CellResult {
            policy: "greedy".to_owned(),
            l1_misses: 7,
            extra_zeroed_pages: 5,
            ..CellResult::default()
        };
        let mut results = KeptResults {
            command: "./program 1".to_owned(),
            references: 9,
            cells: vec![cell],
            blocks: vec![BlockUse::default()],
            ..KeptResults::default()
        };
        file.write(&mut results).expect("written");
        assert_eq!(file.read(), results);
        let text = std::fs::read_to_string(&file.0).expect("a file");
        std::fs::write(&file.0, text.replace(&made_by("results"), "other")).expect("written");
        assert_eq!(file.read(), KeptResults::default());
    }
}
