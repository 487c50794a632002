//! The JSON form of a tick: the differences from the tick before.

use crate::plan::{Outcome, TickPlan};
use crate::seen::{BlockSeen, Headroom, LiveMapping, MachineSeen};
use serde::{Deserialize, Serialize};

/// A line of a journal after the header line.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TickLine {
    /// Nanoseconds since the start of the governor.
    pub(super) at: u64,
    /// The state of the machine, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) machine: Option<MachineLine>,
    /// The processes with a difference, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) processes: Vec<ProcessLine>,
    /// Processes that have left, by number and start time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) gone: Vec<(u32, u64)>,
    /// The plan of the tick.
    #[serde(default, skip_serializing_if = "TickPlan::is_empty")]
    pub(super) plan: TickPlan,
    /// The outcomes of the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) outcomes: Vec<Outcome>,
}

/// The state of the machine: available bytes, free extents, and the memory pressure if the kernel
/// reports it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum MachineLine {
    WithPressure(u64, u64, u32),
    WithoutPressure(u64, u64),
}

/// The differences of a process.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProcessLine {
    /// The process number and the start time.
    pub(super) id: (u32, u64),
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) command: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) image: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) faults: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rss: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) headroom: Option<Limit>,
    /// The memory, if the tick read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pages: Option<MemoryLine>,
}

/// The headroom of a cgroup and its limit, or an empty list without a limit.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Limit {
    Some(u64, u64),
    None([u64; 0]),
}

/// The differences of a process's memory.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MemoryLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) mappings: Option<Splice>,
    /// Ranges of blocks that hold no pages any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) gone: Vec<(u64, u64)>,
    /// The bytes that the process holds, if the tick read them. Shared pages count in proportion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) held: Option<u64>,
    /// Ranges of blocks for which the program asked for superpages, if the tick read them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) asked: Option<Vec<(u64, u64)>>,
    /// The used pages of blocks, if the tick had a new measurement: the number of a block, and its
    /// pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) used: Option<Vec<(u64, u16)>>,
    /// Blocks with changed contents, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) blocks: Vec<BlockLine>,
}

/// A replaced part of the list of mappings.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Splice {
    /// The number of unchanged mappings before the part.
    pub(super) after: usize,
    /// The number of mappings that the part replaces.
    pub(super) drop: usize,
    /// The new mappings.
    pub(super) add: Vec<LiveMapping>,
}

/// A block. A superpage is its number alone. Another block is its number and the counts of resident
/// pages, pages of zeroes and swapped pages, without zeroes at the end.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum BlockLine {
    Swapped(u64, u16, u16, u16),
    Zero(u64, u16, u16),
    Present(u64, u16),
    Huge((u64,)),
}

impl From<MachineSeen> for MachineLine {
    fn from(seen: MachineSeen) -> Self {
        match seen.pressure {
            Some(pressure) => Self::WithPressure(seen.available_bytes, seen.free_blocks, pressure),
            None => Self::WithoutPressure(seen.available_bytes, seen.free_blocks),
        }
    }
}

impl From<MachineLine> for MachineSeen {
    fn from(written: MachineLine) -> Self {
        let (available_bytes, free_blocks, pressure) = match written {
            MachineLine::WithPressure(available, free, pressure) => {
                (available, free, Some(pressure))
            }
            MachineLine::WithoutPressure(available, free) => (available, free, None),
        };
        Self {
            available_bytes,
            free_blocks,
            pressure,
        }
    }
}

impl From<Option<Headroom>> for Limit {
    fn from(headroom: Option<Headroom>) -> Self {
        match headroom {
            Some(left) => Self::Some(left.bytes, left.limit),
            None => Self::None([]),
        }
    }
}

impl From<Limit> for Option<Headroom> {
    fn from(written: Limit) -> Self {
        match written {
            Limit::Some(bytes, limit) => Some(Headroom { bytes, limit }),
            Limit::None([]) => None,
        }
    }
}

impl From<BlockSeen> for BlockLine {
    fn from(seen: BlockSeen) -> Self {
        match seen {
            BlockSeen { huge: true, .. } => Self::Huge((seen.block,)),
            BlockSeen {
                zero: 0,
                swapped: 0,
                ..
            } => Self::Present(seen.block, seen.present),
            BlockSeen { swapped: 0, .. } => Self::Zero(seen.block, seen.present, seen.zero),
            _ => Self::Swapped(seen.block, seen.present, seen.zero, seen.swapped),
        }
    }
}

impl From<BlockLine> for BlockSeen {
    fn from(written: BlockLine) -> Self {
        let (block, present, zero, swapped, huge) = match written {
            BlockLine::Huge((block,)) => (block, 0, 0, 0, true),
            BlockLine::Present(block, present) => (block, present, 0, 0, false),
            BlockLine::Zero(block, present, zero) => (block, present, zero, 0, false),
            BlockLine::Swapped(block, present, zero, swapped) => {
                (block, present, zero, swapped, false)
            }
        };
        Self {
            block,
            present,
            zero,
            swapped,
            huge,
        }
    }
}
