//! The counts of a program under one policy in one memory, and the file that keeps them.

use std::fs::File;
use std::io::{BufReader, Write as _};
use std::path::{Path, PathBuf};

use broadleaf_metrics::CellResult;
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, reason};
use crate::output::shown;
use crate::provenance::made_by;

/// The counts of one TLB.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DesignCounts {
    /// The grid of the TLB.
    pub(super) grid: String,
    pub(super) misses: u64,
    /// The cache lines of the page table that walks read.
    pub(super) lines: u64,
    /// The most memory of the page tables, in bytes.
    pub(super) table_bytes: u64,
}

/// The counts of a memory, and of all TLBs that observe it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WorldCounts {
    /// The name of the world.
    pub(super) world: String,
    pub(super) references: u64,
    pub(super) touched_pages: u64,
    pub(super) peak_resident_pages: u64,
    pub(super) peak_superpage_pages: u64,
    pub(super) promotions: u64,
    /// Pages that promotions brought in, and that the program had not touched.
    pub(super) added_pages: u64,
    pub(super) reservations: u64,
    pub(super) reservations_broken: u64,
    /// Reserved frames without their page, at the peak of residency.
    pub(super) reserved_frames: u64,
    /// Pages that were copied: to their place in a block, or at a store to a shared page.
    pub(super) copied_pages: u64,
    pub(super) designs: Vec<DesignCounts>,
}

impl WorldCounts {
    /// The counts of a replay, whose cells have one policy and one memory.
    pub(super) fn of(world: &str, cells: &[CellResult]) -> Self {
        let designs = cells.iter().map(|cell| DesignCounts {
            grid: cell.machine.clone(),
            misses: cell.l2_misses,
            lines: (cell.tlb.as_ref())
                .and_then(|tlb| tlb.table_lines)
                .unwrap_or(0),
            table_bytes: (cell.tlb.as_ref())
                .and_then(|tlb| tlb.table_bytes_peak)
                .unwrap_or(0),
        });
        let mut counts = Self {
            world: world.to_owned(),
            designs: designs.collect(),
            ..Self::default()
        };
        let Some(first) = cells.first() else {
            return counts;
        };
        counts.references = first.accesses;
        counts.touched_pages = first.touched_pages;
        counts.peak_resident_pages = first.peak_resident_pages;
        counts.promotions = first.promotions;
        counts.added_pages = first.extra_zeroed_pages + first.extra_disk_read_pages;
        if let Some(memory) = &first.memory {
            counts.peak_superpage_pages = memory.peak_superpage_pages;
            counts.reservations = memory.reservations;
            counts.reservations_broken = memory.reservations_broken;
            counts.reserved_frames = memory.at_peak.reserved_frames;
            counts.copied_pages = memory.copied_bytes / memory.base_page_bytes.max(1);
        }
        counts
    }

    /// The counts of a TLB of this world.
    pub(super) fn design(&self, grid: &str) -> Option<&DesignCounts> {
        self.designs.iter().find(|design| design.grid == grid)
    }
}

/// The content of a file of counts.
#[derive(Serialize, Deserialize)]
struct KeptCounts {
    /// The program that counted, with its version. Counts of other versions are counted again.
    by: String,
    worlds: Vec<WorldCounts>,
}

/// The file with a program's counts beside its recording, so that an interrupted run goes on where
/// it ended.
#[derive(Clone, Debug)]
pub(super) struct CountsFile(PathBuf);

impl CountsFile {
    /// The file of a recording.
    pub(super) fn beside(recording: &Path) -> Self {
        Self(recording.with_extension("counts.json"))
    }

    /// The counts of an earlier run. Empty if there is no file, or a file of another version.
    pub(super) fn read(&self) -> Vec<WorldCounts> {
        let read = || {
            let file = BufReader::new(File::open(&self.0).ok()?);
            serde_json::from_reader::<_, KeptCounts>(file).ok()
        };
        let kept = read().filter(|kept| kept.by == made_by("counts"));
        kept.map_or_else(Vec::new, |kept| kept.worlds)
    }

    /// Writes the counts. The file is replaced as a whole.
    pub(super) fn write(&self, worlds: &[WorldCounts]) -> Result<(), Failure> {
        let kept = KeptCounts {
            by: made_by("counts"),
            worlds: worlds.to_vec(),
        };
        let write = || {
            let folder = self.0.parent().unwrap_or(Path::new("."));
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(serde_json::to_string_pretty(&kept)?.as_bytes())?;
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
    fn counts_are_read_again_and_those_of_other_versions_are_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = CountsFile::beside(&folder.path().join("program.bl"));
        assert_eq!(file.read(), []);
        let world = WorldCounts {
            world: "a policy".to_owned(),
            references: 7,
            designs: vec![DesignCounts {
                grid: "single:entries=64".to_owned(),
                misses: 3,
                lines: 4,
                table_bytes: 5,
            }],
            ..WorldCounts::default()
        };
        file.write(std::slice::from_ref(&world)).expect("written");
        assert_eq!(file.read(), [world]);
        let text = std::fs::read_to_string(&file.0).expect("a file");
        std::fs::write(&file.0, text.replace("counts", "other")).expect("written");
        assert_eq!(file.read(), []);
        std::fs::write(&file.0, "{").expect("written");
        assert_eq!(file.read(), []);
    }
}
