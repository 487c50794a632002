//! Heat: the pages of a live process that were used in a span of time, by the kernel's reports.
//!
//! No single report exists everywhere. [`HeatMeter::measure`] tries the sources from the most exact
//! to the coarsest, and names each source that it could not use, with the reason.

mod cooling;
mod damon;
mod frames;
mod idle;
mod kdamonds;
mod referenced;
mod sampler;
#[cfg(test)]
mod tests;

pub use sampler::{HeatChange, HeatSampler};

use crate::linux::Linux;
use crate::seen::{LiveBacking, LiveMapping, LivePages, ProcessId};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A report of the kernel about the use of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeatSource {
    /// Idle page tracking: one bit for each page frame.
    IdlePages,
    /// DAMON on the addresses of the process.
    Damon,
    /// DAMON on page frames, mapped back to the process by frame numbers.
    DamonPhysical,
    /// The sum of referenced memory, before and while the pages of some blocks are marked unused.
    Cooling,
    /// The referenced memory of each mapping.
    Mappings,
}

impl HeatSource {
    /// All sources, from the most exact to the coarsest.
    pub const ALL: [Self; 5] = [
        Self::IdlePages,
        Self::Damon,
        Self::DamonPhysical,
        Self::Cooling,
        Self::Mappings,
    ];

    /// The sources that report blocks, from the most exact to the coarsest.
    pub const OF_BLOCKS: [Self; 4] = [
        Self::IdlePages,
        Self::Damon,
        Self::DamonPhysical,
        Self::Cooling,
    ];

    /// Returns the name of the source.
    pub const fn name(self) -> &'static str {
        match self {
            Self::IdlePages => "idle-pages",
            Self::Damon => "damon",
            Self::DamonPhysical => "damon-physical",
            Self::Cooling => "cooling",
            Self::Mappings => "mappings",
        }
    }

    /// Returns the source of a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.name() == name)
    }

    /// Returns a sentence about the source.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::IdlePages => "The kernel's idle page tracking: exact for each page.",
            Self::Damon => "DAMON on the addresses of the process: samples of regions.",
            Self::DamonPhysical => {
                "DAMON on page frames, mapped back by frame numbers: samples of regions."
            }
            Self::Cooling => {
                "Referenced memory of the process (clear_refs, smaps_rollup), before and while \
                 groups of blocks are marked unused (MADV_COLD). The kernel reclaims marked pages \
                 first if memory gets short."
            }
            Self::Mappings => {
                "Referenced memory of each mapping (clear_refs, smaps). Which blocks of a mapping \
                 were used stays unknown."
            }
        }
    }
}

/// The use of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockHeat {
    /// The block number: its address divided by [`crate::BLOCK_BYTES`].
    pub block: u64,
    /// The base pages that were used. All pages of a superpage count if any was used.
    pub used: u16,
}

/// The use of a mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappingHeat {
    /// The first byte.
    pub start: u64,
    /// The first byte after the mapping.
    pub end: u64,
    /// The kernel's name for the mapping.
    pub name: String,
    /// The resident bytes.
    pub resident_bytes: u64,
    /// The bytes in pages that were used.
    pub referenced_bytes: u64,
}

/// A source that could not be used, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {reason}", source_of.name())]
pub struct NoHeat {
    /// The source.
    pub source_of: HeatSource,
    /// The reason, and a remedy if there is one.
    pub reason: String,
}

/// The use of a process's memory in a span of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessHeat {
    /// The report that was used.
    pub source: HeatSource,
    /// The span of time.
    pub window: Duration,
    /// The blocks with pages, sorted by number. Empty if the source reports mappings alone.
    pub blocks: Vec<BlockHeat>,
    /// The number of blocks that one measurement covers: 1 if each block is measured alone.
    pub group: u64,
    /// The mappings. Empty if the source reports blocks alone.
    pub mappings: Vec<MappingHeat>,
    /// The sources before it that could not be used.
    pub refused: Vec<NoHeat>,
}

/// Reads heat from files of `/proc` and `/sys/kernel/mm`.
#[derive(Clone, Debug)]
pub struct HeatMeter {
    proc: PathBuf,
    mm: PathBuf,
    early_end: Arc<EarlyEnd>,
}

/// A request to end measurements early, shared by a meter and its clones.
#[derive(Debug, Default)]
struct EarlyEnd {
    is_asked: Mutex<bool>,
    asked: Condvar,
}

impl Default for HeatMeter {
    fn default() -> Self {
        Self::at(PathBuf::from("/proc"), PathBuf::from("/sys/kernel/mm"))
    }
}

/// The findings of a source.
#[derive(Debug, Default)]
struct FoundHeat {
    blocks: Vec<BlockHeat>,
    group: u64,
    mappings: Vec<MappingHeat>,
}

impl HeatMeter {
    /// Creates a meter that reads the files at other places.
    pub fn at(proc: PathBuf, mm: PathBuf) -> Self {
        Self {
            proc,
            mm,
            early_end: Arc::default(),
        }
    }

    /// Removes the kdamonds of this process's measurements. A program calls this before it ends: no
    /// later measurement can use DAMON.
    pub fn end_all() {
        kdamonds::MADE.end();
    }

    /// Watches the blocks of `pages` for the time `window`, by the first of `sources` that works.
    ///
    /// # Errors
    /// Returns each source with the reason why it could not be used.
    pub fn measure(
        &self,
        linux: &mut Linux,
        process: ProcessId,
        pages: &LivePages,
        window: Duration,
        sources: &[HeatSource],
    ) -> Result<ProcessHeat, Vec<NoHeat>> {
        let mut refused = Vec::new();
        let pages = counted(pages);
        for &source in sources {
            if let Err(reason) = self.rest(Duration::ZERO) {
                refused.push(NoHeat {
                    source_of: source,
                    reason,
                });
                break;
            }
            let found = match source {
                HeatSource::IdlePages => idle::measure(self, process, &pages, window),
                HeatSource::Damon => damon::virtual_regions(self, process, &pages, window),
                HeatSource::DamonPhysical => damon::frame_regions(self, process, &pages, window),
                HeatSource::Cooling => cooling::measure(self, linux, process, &pages, window),
                HeatSource::Mappings => referenced::measure(self, process, window),
            };
            match found {
                Ok(found) => {
                    return Ok(ProcessHeat {
                        source,
                        window,
                        blocks: found.blocks,
                        group: found.group.max(1),
                        mappings: found.mappings,
                        refused,
                    });
                }
                Err(reason) => refused.push(NoHeat {
                    source_of: source,
                    reason,
                }),
            }
        }
        Err(refused)
    }

    /// Makes the present measurements of this meter and of its clones fail soon, and later ones at
    /// once.
    fn end(&self) {
        let end = &self.early_end;
        *end.is_asked.lock().unwrap_or_else(PoisonError::into_inner) = true;
        end.asked.notify_all();
    }

    /// Rests for a time while the program runs. Fails if the measurement is to end early.
    fn rest(&self, time: Duration) -> Result<(), String> {
        let end = &self.early_end;
        let is_asked = end.is_asked.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = (end.asked).wait_timeout_while(is_asked, time, |is_asked| !*is_asked);
        let (is_asked, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match *is_asked {
            true => Err("the measurement was ended early".to_owned()),
            false => Ok(()),
        }
    }

    /// Returns a file of a process.
    fn of_process(&self, process: ProcessId, file: &str) -> PathBuf {
        self.proc.join(process.pid.to_string()).join(file)
    }
}

/// Returns the blocks whose use is measured: those of memory that could become superpages.
fn counted(pages: &LivePages) -> LivePages {
    let blocks = pages.mapped().filter(|(mapping, _)| is_counted(mapping));
    LivePages {
        blocks: blocks.map(|(_, seen)| *seen).collect(),
        ..pages.clone()
    }
}

const fn is_counted(mapping: &LiveMapping) -> bool {
    matches!(mapping.backing, LiveBacking::Anonymous | LiveBacking::Shmem)
}

/// The text of an error of a file.
fn no(what: &std::path::Path, error: &std::io::Error) -> String {
    let reason = match error.kind() {
        std::io::ErrorKind::NotFound => "this kernel does not have it".to_owned(),
        std::io::ErrorKind::PermissionDenied => {
            "the kernel does not allow it to this user; try as root".to_owned()
        }
        _ => error.to_string(),
    };
    format!("{}: {reason}", what.display())
}
