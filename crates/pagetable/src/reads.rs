//! What walks read, and what tables take.

/// One read of a walk: bytes that lie together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableRead {
    /// The physical address of the first byte.
    pub address: u64,
    /// The number of bytes.
    pub bytes: u32,
    /// True for the first read of a node: a page of a tree, or a member of a chain.
    pub begins_node: bool,
}

impl TableRead {
    /// The first read of a node.
    pub(crate) const fn of_node(address: u64, bytes: u32) -> Self {
        Self {
            address,
            bytes,
            begins_node: true,
        }
    }

    /// A further read of the node before.
    pub(crate) const fn further(address: u64, bytes: u32) -> Self {
        Self {
            address,
            bytes,
            begins_node: false,
        }
    }
}

/// The memory of one level of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelSize {
    /// The number of nodes.
    pub nodes: u64,
    /// The bytes of all nodes.
    pub bytes: u64,
}

/// The memory of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableSize {
    /// The levels, the one with the base pages first. A table without levels has one for each kind
    /// of its nodes.
    pub levels: Vec<LevelSize>,
    /// The bytes that the table takes when it is empty: arrays of fixed size.
    pub fixed: u64,
}

impl TableSize {
    /// A table of one kind of nodes.
    pub fn of(nodes: u64, bytes: u64) -> Self {
        Self {
            levels: vec![LevelSize { nodes, bytes }],
            fixed: 0,
        }
    }

    /// All bytes.
    pub fn bytes(&self) -> u64 {
        self.fixed + self.levels.iter().map(|level| level.bytes).sum::<u64>()
    }

    /// All nodes.
    pub fn nodes(&self) -> u64 {
        self.levels.iter().map(|level| level.nodes).sum()
    }
}
