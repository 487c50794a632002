//! Nodes of trees that several address spaces can have in common: those with equal entries.

use broadleaf_units::{Leaf, SplitMix64};
use std::collections::{BTreeMap, BTreeSet};

/// The content of a node of base pages: equal for nodes whose entries map the same frames with the
/// same rights at the same places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NodeContent(u128);

impl NodeContent {
    /// The content with an entry more, or with the entry less: each entry is its own inverse.
    pub(crate) fn with(self, index: usize, leaf: &Leaf) -> Self {
        let rights = [leaf.rights.read, leaf.rights.write, leaf.rights.execute];
        let rights = rights
            .iter()
            .fold(0, |bits, bit| bits << 1 | u64::from(*bit));
        let size = u64::from(leaf.run.size.shift()) << 3 | rights;
        let frame = leaf.frame.map_or(u64::MAX, |frame| frame);
        let mut mixed = SplitMix64::new(frame ^ (index as u64).rotate_left(44));
        let mut again = SplitMix64::new(mixed.next() ^ size);
        Self(self.0 ^ (u128::from(again.next()) << 64 | u128::from(again.next())))
    }
}

/// Nodes by their content. Nodes of one content are one node in memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedNodes(BTreeMap<NodeContent, BTreeSet<u32>>);

impl SharedNodes {
    /// Moves a node from one content to another; `None` if there was no node, or is none.
    pub(crate) fn change(&mut self, node: u32, from: Option<NodeContent>, to: Option<NodeContent>) {
        if let Some(from) = from
            && let Some(nodes) = self.0.get_mut(&from)
        {
            nodes.remove(&node);
            if nodes.is_empty() {
                self.0.remove(&from);
            }
        }
        if let Some(to) = to {
            self.0.entry(to).or_default().insert(node);
        }
    }

    /// The node that holds a content in memory.
    pub(crate) fn holder(&self, content: NodeContent) -> Option<u32> {
        self.0.get(&content)?.first().copied()
    }

    /// The number of different nodes.
    pub(crate) fn len(&self) -> u64 {
        self.0.len() as u64
    }
}
