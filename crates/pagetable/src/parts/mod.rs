//! The parts that several tables are made of: nodes, chains of them, trees, and caches in front.

pub(crate) mod aliases;
pub(crate) mod blocks;
pub(crate) mod by_size;
pub(crate) mod chains;
pub(crate) mod cuckoo;
pub(crate) mod front;
pub(crate) mod last_used;
pub(crate) mod nodes;
pub(crate) mod radix;
pub(crate) mod shared;
pub(crate) mod single_mappings;
