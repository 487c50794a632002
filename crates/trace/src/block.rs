//! Basic blocks: lists of the items that a block executes.

use crate::varint::{self, Cursor};

/// The maximum number of references in one block.
pub const MOST_BLOCK_REFERENCES: usize = 1024;
/// The maximum number of patterns of one process.
pub const MOST_PATTERNS: usize = 1 << 22;
/// The maximum number of references of one process.
pub const MOST_REFERENCES: usize = 1 << 24;

/// One item of a basic block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockItem {
    /// A run of instructions whose code pages are not recorded.
    Instructions(u32),
    /// A load.
    Load {
        /// The number of bytes read.
        bytes: u32,
    },
    /// A store.
    Store {
        /// The number of bytes written.
        bytes: u32,
    },
    /// An exit of the block. A pattern ends here.
    Exit,
    /// The start of an instruction whose code lies in this unit.
    Fetch {
        /// The unit of the code.
        unit: u64,
    },
    /// More instructions that begin in the unit of the fetch before.
    FetchAgain(u32),
    /// One reference for several accesses to one unit.
    Several {
        /// Loads.
        loads: u32,
        /// Stores.
        stores: u32,
        /// The number of loads before the first store; ignored if there is no store.
        loads_before_store: u32,
    },
}

const INSTRUCTIONS: u64 = 0;
const LOAD: u64 = 1;
const STORE: u64 = 2;
const EXIT: u64 = 3;
const FETCH: u64 = 4;
const SEVERAL: u64 = 5;
const FETCH_AGAIN: u64 = 6;

impl BlockItem {
    /// Returns true if the item is a reference.
    pub const fn is_reference(&self) -> bool {
        matches!(
            self,
            Self::Load { .. } | Self::Store { .. } | Self::Several { .. }
        )
    }

    fn put(&self, out: &mut Vec<u8>) {
        let mut word = |what: u64, argument: u64| varint::put(out, argument << 3 | what);
        match *self {
            Self::Instructions(count) => word(INSTRUCTIONS, count.into()),
            Self::Load { bytes } => word(LOAD, bytes.into()),
            Self::Store { bytes } => word(STORE, bytes.into()),
            Self::Exit => word(EXIT, 0),
            Self::Fetch { unit } => word(FETCH, unit),
            Self::FetchAgain(count) => word(FETCH_AGAIN, count.into()),
            Self::Several {
                loads, stores: 0, ..
            } => word(SEVERAL, u64::from(loads) << 1),
            Self::Several {
                loads,
                stores,
                loads_before_store,
            } => {
                word(SEVERAL, u64::from(loads) << 1 | 1);
                varint::put(out, loads_before_store.into());
                varint::put(out, stores.into());
            }
        }
    }

    fn take(from: &mut Cursor<'_>) -> Result<Self, &'static str> {
        const MANY: &str = "an item's argument has more than 32 bits";
        let word = from.number()?;
        let argument = word >> 3;
        let small = || u32::try_from(argument).map_err(|_| MANY);
        Ok(match word & 7 {
            INSTRUCTIONS => Self::Instructions(small()?),
            LOAD => Self::Load { bytes: small()? },
            STORE => Self::Store { bytes: small()? },
            EXIT => Self::Exit,
            FETCH => Self::Fetch { unit: argument },
            FETCH_AGAIN => Self::FetchAgain(small()?),
            SEVERAL => {
                let loads = u32::try_from(argument >> 1).map_err(|_| MANY)?;
                if argument & 1 == 0 {
                    Self::Several {
                        loads,
                        stores: 0,
                        loads_before_store: loads,
                    }
                } else {
                    let loads_before_store = from.number32()?;
                    let stores = from.number32()?;
                    Self::Several {
                        loads,
                        stores,
                        loads_before_store,
                    }
                }
            }
            _ => return Err("an item is of no known kind"),
        })
    }
}

/// A basic block: its items in order, exits included. The last item is an exit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct BlockDef {
    /// The items of the block.
    pub items: Vec<BlockItem>,
}

impl BlockDef {
    /// A block with these items.
    pub fn new(items: impl IntoIterator<Item = BlockItem>) -> Self {
        Self {
            items: items.into_iter().collect(),
        }
    }

    /// The number of patterns.
    pub fn patterns(&self) -> usize {
        let exits = self.items.iter().filter(|item| **item == BlockItem::Exit);
        exits.count()
    }

    /// The number of references.
    pub fn references(&self) -> usize {
        self.items.iter().filter(|item| item.is_reference()).count()
    }

    /// Appends the block in the encoding of a definitions chunk.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        varint::put(out, self.items.len() as u64);
        for item in &self.items {
            item.put(out);
        }
    }

    /// Decodes a block of a definitions chunk and passes each item to `each`.
    pub(crate) fn take(
        from: &mut Cursor<'_>,
        mut each: impl FnMut(BlockItem) -> Result<(), &'static str>,
    ) -> Result<(), &'static str> {
        let count = from.number()?;
        let mut last = None;
        for _ in 0..count {
            let item = BlockItem::take(from)?;
            each(item)?;
            last = Some(item);
        }
        match last {
            Some(BlockItem::Exit) => Ok(()),
            _ => Err("a block does not end with an exit"),
        }
    }
}
