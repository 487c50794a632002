//! Advice by range: where a program's superpages pay, and what by.

use crate::{CellResult, MemoryAsked, Provenance, TraceSummary};
use serde::Serialize;

/// The name and version of the shape of [`RangeAdvice`].
pub const ADVICE_SCHEMA: &str = "broadleaf.advice/1";

/// The whole answer of `advise`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RangeAdvice {
    /// [`ADVICE_SCHEMA`].
    pub schema: String,
    /// What was replayed.
    pub trace: TraceSummary,
    /// The policy that chose, with its parameters.
    pub policy: String,
    /// The machine's name.
    pub machine: String,
    /// Whether what each range spares by itself is exact on that machine: its TLB is one fully associative structure. Elsewhere it is an estimate.
    pub exact: bool,
    /// How much memory there was, and what things cost in it.
    pub memory: MemoryAsked,
    /// How many address spaces the trace has.
    pub spaces: u64,
    /// By what the ranges are in order, the best first: `gain` or `byte`.
    pub ranked_by: String,
    /// The ranges, or the best of them.
    pub ranges: Vec<AdvisedRange>,
    /// How many ranges were chosen beside these.
    pub ranges_left_out: u64,
    /// What was replayed without superpages (`4k`), and with all that were chosen.
    pub results: Vec<CellResult>,
    /// What of the trace could not be read, where it is damaged.
    pub damage: Option<String>,
    /// What a reader has to know about the trace and the model to take the numbers rightly.
    pub notes: Vec<String>,
    /// Who made this.
    pub provenance: Provenance,
}

impl RangeAdvice {
    /// Leaves out all ranges behind the best `most`.
    pub fn keep_best(&mut self, most: usize) {
        let behind = self.ranges.len().saturating_sub(most);
        self.ranges.truncate(most);
        self.ranges_left_out += behind as u64;
    }

    /// What was replayed without superpages, and with those that were chosen.
    pub fn replayed(&self) -> Option<(&CellResult, &CellResult)> {
        match self.results.as_slice() {
            [without, with] => Some((without, with)),
            _ => None,
        }
    }
}

/// Superpages of one size that stand one behind the other in one mapping. What they spare is counted as if there were no others.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AdvisedRange {
    /// The trace's number of the address space.
    pub space: u32,
    /// The process; `None` where the trace does not tell.
    pub pid: Option<u32>,
    /// Its command line; empty where the trace does not tell.
    pub command: Vec<String>,
    /// First byte.
    pub start: u64,
    /// The byte behind the last.
    pub end: u64,
    /// How large a superpage is, in bytes.
    pub superpage_bytes: u64,
    /// How many superpages there are.
    pub superpages: u64,
    /// What they lie in; `None` where the trace does not tell.
    pub mapping: Option<AdvisedMapping>,
    /// Page walks that they spare.
    pub walks_spared: u64,
    /// Cycles of these.
    pub walk_cycles_spared: u64,
    /// Page faults that they spare.
    pub faults_spared: u64,
    /// Bytes of them that the program never touched: what they take beside what it would hold anyway.
    pub added_bytes: u64,
    /// Cycles of spared walks less what the superpages cost, by the cycles that the policy has few of: their promotion, and their faults less those that they spare.
    pub cycles_gained: i64,
    /// `cycles_gained` for each KiB of superpages.
    pub gained_per_kib: f64,
    /// `cycles_gained` for each KiB of `added_bytes`; `None` where nothing is added.
    pub gained_per_added_kib: Option<f64>,
}

impl AdvisedRange {
    /// How long it is.
    pub const fn bytes(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// The name of the program that runs in the address space, without its folder; empty where the trace does not tell.
    pub fn program(&self) -> &str {
        let path = self.command.first().map_or("", String::as_str);
        path.rsplit('/').next().unwrap_or(path)
    }
}

/// A mapping that superpages lie in, as it was when something of it faulted in last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AdvisedMapping {
    /// What stands behind it.
    pub backing: BackingName,
    /// First byte.
    pub start: u64,
    /// The byte behind the last.
    pub end: u64,
    /// The path of the file, for mappings of files and static data, if the trace names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The file's byte that stands at the first byte of the range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
}

/// What can stand behind a mapping.
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
    /// A program's or library's static data that begins as zeroes (`.bss`). A file is named for it,
    /// but holds none of its content.
    StaticData,
    /// A file.
    File,
    /// What the kernel provides.
    Kernel,
}

impl BackingName {
    /// In words.
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
    fn a_range_has_the_promised_fields_in_the_promised_order() {
        let range = AdvisedRange {
            mapping: Some(AdvisedMapping::default()),
            ..AdvisedRange::default()
        };
        let json = serde_json::to_string(&range).unwrap();
        let promised = [
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
        for name in promised {
            let at = rest
                .find(&format!("\"{name}\":"))
                .unwrap_or_else(|| panic!("{name} is missing, or stands too early, in {json}"));
            rest = &rest[at..];
        }
    }

    #[test]
    fn a_program_goes_by_its_name() {
        let named = |command: &[&str]| AdvisedRange {
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            ..AdvisedRange::default()
        };
        assert_eq!(named(&["/usr/lib/gcc/cc1", "-quiet"]).program(), "cc1");
        assert_eq!(named(&["sort"]).program(), "sort");
        assert_eq!(named(&[]).program(), "");
    }
}
