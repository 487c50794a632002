//! How a tick is written: only what differs from the tick before.

use crate::plan::{Outcome, Plan};
use crate::seen::{BlockSeen, Headroom, MachineSeen, Mapping};
use serde::{Deserialize, Serialize};

/// A line of a journal behind the first.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    /// Nanoseconds since the governor began.
    pub(super) at: u64,
    /// The machine, where it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) machine: Option<Machine>,
    /// Processes of which something differs, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) processes: Vec<Process>,
    /// Processes that are no longer seen, by number and beginning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) gone: Vec<(u32, u64)>,
    /// What was decided, if anything.
    #[serde(default, skip_serializing_if = "Plan::is_empty")]
    pub(super) plan: Plan,
    /// What came of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) outcomes: Vec<Outcome>,
}

/// Available bytes, free extents, and pressure where the kernel tells it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Machine {
    Told(u64, u64, u32),
    Untold(u64, u64),
}

/// What differs of a process.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Process {
    /// Its number, and when it began.
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
    /// Its memory, where it was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pages: Option<Memory>,
}

/// What a cgroup leaves, and its limit; nothing where there is none.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Limit {
    Some(u64, u64),
    None([u64; 0]),
}

/// What differs of a process's memory.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Memory {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) mappings: Option<Splice>,
    /// Ranges of blocks that hold nothing any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) gone: Vec<(u64, u64)>,
    /// Bytes that it holds with its part of what others share, where that was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) held: Option<u64>,
    /// Ranges of blocks for which the program asked for superpages, where that was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) asked: Option<Vec<(u64, u64)>>,
    /// Blocks that hold something else, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) blocks: Vec<Block>,
}

/// Mappings that stand where others stood.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Splice {
    /// How many stand before them, as they were.
    pub(super) after: usize,
    /// How many are no more.
    pub(super) drop: usize,
    /// Those that stand there now.
    pub(super) add: Vec<Mapping>,
}

/// A block: its number alone where it is a superpage, and else with its pages that are present, that are the kernel's zeroes, and that are swapped,
/// without the zeroes at the end.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Block {
    Swapped(u64, u16, u16, u16),
    Zero(u64, u16, u16),
    Present(u64, u16),
    Huge((u64,)),
}

impl From<MachineSeen> for Machine {
    fn from(seen: MachineSeen) -> Self {
        match seen.pressure {
            Some(pressure) => Self::Told(seen.available_bytes, seen.free_blocks, pressure),
            None => Self::Untold(seen.available_bytes, seen.free_blocks),
        }
    }
}

impl From<Machine> for MachineSeen {
    fn from(written: Machine) -> Self {
        let (available_bytes, free_blocks, pressure) = match written {
            Machine::Told(available, free, pressure) => (available, free, Some(pressure)),
            Machine::Untold(available, free) => (available, free, None),
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

impl From<BlockSeen> for Block {
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

impl From<Block> for BlockSeen {
    fn from(written: Block) -> Self {
        let (block, present, zero, swapped, huge) = match written {
            Block::Huge((block,)) => (block, 0, 0, 0, true),
            Block::Present(block, present) => (block, present, 0, 0, false),
            Block::Zero(block, present, zero) => (block, present, zero, 0, false),
            Block::Swapped(block, present, zero, swapped) => (block, present, zero, swapped, false),
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
