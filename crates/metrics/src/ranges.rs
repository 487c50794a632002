//! Advice by range: the ranges in which a program's superpages pay, and their gain.

use crate::{
    AddressMap, AdvisedSite, CellResult, MemoryAsked, Provenance, Recommendation, TraceSummary,
};
use serde::Serialize;

/// The name and version of the schema of [`RangeAdvice`].
pub const ADVICE_SCHEMA: &str = "broadleaf.advice/1";

/// The result of `advise`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RangeAdvice {
    /// [`ADVICE_SCHEMA`].
    pub schema: String,
    /// The replayed trace.
    pub trace: TraceSummary,
    /// The policy that chose the ranges, with its parameters.
    pub policy: String,
    /// The machine's name.
    pub machine: String,
    /// True if the savings of a single range are exact on this machine: its TLB is one fully
    /// associative structure. Otherwise the savings are estimates.
    pub exact: bool,
    /// The memory of the replay, with its costs.
    pub memory: MemoryAsked,
    /// The number of address spaces of the trace.
    pub spaces: u64,
    /// The order of the ranges, best first: `gain` or `byte`.
    pub ranked_by: String,
    /// The ranges, or the best of them.
    pub ranges: Vec<AdvisedRange>,
    /// The number of chosen ranges that are not listed.
    pub ranges_left_out: u64,
    /// The allocation sites with memory in the superpages, if the trace has sites. Those that gain
    /// most come first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<AdvisedSite>,
    /// The results without superpages (`4k`), and with all chosen superpages.
    pub results: Vec<CellResult>,
    /// Maps of memory over time; absent without `--html`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub maps: Vec<AddressMap>,
    /// A description of unreadable parts, if the trace is damaged.
    pub damage: Option<String>,
    /// Notes on the trace and the model that the interpretation of the figures needs.
    pub notes: Vec<String>,
    /// The recommendation: its gain, its cost and its commands.
    pub advice: Recommendation,
    /// The provenance of this result.
    pub provenance: Provenance,
}

impl RangeAdvice {
    /// Keeps the best `most` ranges.
    pub fn keep_best(&mut self, most: usize) {
        let omitted = self.ranges.len().saturating_sub(most);
        self.ranges.truncate(most);
        self.ranges_left_out += omitted as u64;
    }

    /// The results without superpages, and with the chosen superpages.
    pub fn replayed(&self) -> Option<(&CellResult, &CellResult)> {
        match self.results.as_slice() {
            [without, with] => Some((without, with)),
            _ => None,
        }
    }
}

/// Adjacent superpages of one size in one mapping. Their savings are counted as if there were no
/// other superpages.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AdvisedRange {
    /// The trace's number of the address space.
    pub space: u32,
    /// The process id; `None` if the trace does not name it.
    pub pid: Option<u32>,
    /// The command line; empty if the trace does not name it.
    pub command: Vec<String>,
    /// The address of the first byte.
    pub start: u64,
    /// The address after the last byte.
    pub end: u64,
    /// The size of a superpage, in bytes.
    pub superpage_bytes: u64,
    /// The number of superpages.
    pub superpages: u64,
    /// The mapping of the range; `None` if the trace does not name it.
    pub mapping: Option<AdvisedMapping>,
    /// The number of page walks saved.
    pub walks_spared: u64,
    /// The cycles of the saved walks.
    pub walk_cycles_spared: u64,
    /// The number of page faults saved.
    pub faults_spared: u64,
    /// The bytes that the program never touched: the additional memory of the superpages.
    pub added_bytes: u64,
    /// The cycles of saved walks less the cost of the superpages, in the cycles that the policy
    /// minimises: promotions, and faults less saved faults.
    pub cycles_gained: i64,
    /// `cycles_gained` per KiB of superpages.
    pub gained_per_kib: f64,
    /// `cycles_gained` per KiB of `added_bytes`; `None` if nothing is added.
    pub gained_per_added_kib: Option<f64>,
}

impl AdvisedRange {
    /// The length of the range, in bytes.
    pub const fn bytes(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// The name of the program in the address space, without its folder; empty if the trace does
    /// not name it.
    pub fn program(&self) -> &str {
        let path = self.command.first().map_or("", String::as_str);
        path.rsplit('/').next().unwrap_or(path)
    }
}

/// A mapping that holds superpages, in its state at its last page fault.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AdvisedMapping {
    /// The kind of memory.
    pub backing: BackingName,
    /// The address of the first byte.
    pub start: u64,
    /// The address after the last byte.
    pub end: u64,
    /// The path of the file, for mappings of files and static data, if the trace names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The file offset of the first byte of the range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
}

/// The kind of memory of a mapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BackingName {
    /// Private memory that begins as zeroes.
    #[default]
    Anonymous,
    /// The heap that `brk` moves the end of.
    Heap,
    /// A stack.
    Stack,
    /// Memory that processes share.
    SharedMemory,
    /// The static data of a program or library that begins as zeroes (`.bss`). The mapping names a
    /// file, but the file holds none of the content.
    StaticData,
    /// A file.
    File,
    /// Memory that the kernel provides.
    Kernel,
}

impl BackingName {
    /// The kind in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Anonymous => "anonymous",
            Self::Heap => "heap",
            Self::Stack => "stack",
            Self::SharedMemory => "shared memory",
            Self::StaticData => "static data",
            Self::File => "file",
            Self::Kernel => "kernel",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_the_documented_fields_in_the_documented_order() {
        let range = AdvisedRange {
            mapping: Some(AdvisedMapping::default()),
            ..AdvisedRange::default()
        };
        let json = serde_json::to_string(&range).unwrap();
        let documented = [
            "space",
            "pid",
            "command",
            "start",
            "end",
            "superpage_bytes",
            "superpages",
            "mapping",
            "backing",
            "walks_spared",
            "walk_cycles_spared",
            "faults_spared",
            "added_bytes",
            "cycles_gained",
            "gained_per_kib",
            "gained_per_added_kib",
        ];
        let mut rest = json.as_str();
        for name in documented {
            let at = rest
                .find(&format!("\"{name}\":"))
                .unwrap_or_else(|| panic!("{name} is missing or too early in {json}"));
            rest = &rest[at..];
        }
    }

    #[test]
    fn a_program_has_its_file_name() {
        let named = |command: &[&str]| AdvisedRange {
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            ..AdvisedRange::default()
        };
        assert_eq!(named(&["/usr/lib/gcc/cc1", "-quiet"]).program(), "cc1");
        assert_eq!(named(&["sort"]).program(), "sort");
        assert_eq!(named(&[]).program(), "");
    }
}
