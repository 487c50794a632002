//! Hashed tables with chains: a bucket array whose elements are the first nodes, or lead to them.

use crate::parts::nodes::Nodes;
use crate::{TableRead, TableSize};
use broadleaf_units::SpaceId;

/// The bytes of a node's tag and of its pointer to the next node.
pub(crate) const HEAD_BYTES: u32 = 16;
/// The bytes of one mapping.
pub(crate) const MAPPING_BYTES: u32 = 8;
/// The bytes of a pointer.
const POINTER_BYTES: u32 = 8;

/// A node of a chain: its tag, and what it takes.
pub(crate) trait ChainNode {
    /// The space and the number that the hash is of.
    fn key(&self) -> (SpaceId, u64);
    /// The bytes of the node.
    fn bytes(&self) -> u64;
}

/// The places of the chains' first nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChainHead {
    /// In the bucket array: an empty bucket takes no memory of its own in the thesis's reckoning.
    Node,
    /// Outside: the bucket array has pointers, which a walk reads first. The node that was found
    /// last moves to the front.
    Pointer,
}

/// Chains of nodes.
#[derive(Clone, Debug)]
pub(crate) struct Chains<N> {
    heads: ChainHead,
    buckets: Vec<Vec<u32>>,
    nodes: Nodes<N>,
    bytes: u64,
}

impl<N: ChainNode> Chains<N> {
    /// Empty chains, one for each bucket. `region` gives each table addresses of its own. No node
    /// has more than `1 << shift` bytes.
    pub(crate) fn new(heads: ChainHead, buckets: usize, region: u64, shift: u32) -> Self {
        Self {
            heads,
            buckets: vec![Vec::new(); buckets],
            nodes: Nodes::new(region, shift),
            bytes: 0,
        }
    }

    /// The bucket of a key: `((PID << 4) xor VPN) mod buckets` (section 7.3).
    fn bucket(&self, (space, number): (SpaceId, u64)) -> usize {
        ((u64::from(space.0) << 4) ^ number) as usize % self.buckets.len()
    }

    /// The node for which `wanted` returns true, in the chain of a key.
    pub(crate) fn find(
        &self,
        key: (SpaceId, u64),
        mut wanted: impl FnMut(&N) -> bool,
    ) -> Option<u32> {
        let chain = self.buckets[self.bucket(key)].iter().copied();
        let mut own = chain.filter(|number| self.get(*number).is_some_and(|of| of.key() == key));
        own.find(|number| self.get(*number).is_some_and(&mut wanted))
    }

    pub(crate) fn get(&self, number: u32) -> Option<&N> {
        self.nodes.get(number)
    }

    /// Changes a node, which may change its size.
    pub(crate) fn change<R>(&mut self, number: u32, change: impl FnOnce(&mut N) -> R) -> Option<R> {
        let node = self.nodes.get_mut(number)?;
        self.bytes -= node.bytes();
        let result = change(node);
        self.bytes += node.bytes();
        Some(result)
    }

    /// Adds a node at the end of its chain.
    pub(crate) fn add(&mut self, node: N) -> u32 {
        let bucket = self.bucket(node.key());
        self.bytes += node.bytes();
        let number = self.nodes.add(node);
        self.buckets[bucket].push(number);
        number
    }

    /// Removes a node.
    pub(crate) fn remove(&mut self, number: u32) {
        if let Some(node) = self.nodes.remove(number) {
            self.bytes -= node.bytes();
            let bucket = self.bucket(node.key());
            self.buckets[bucket].retain(|other| *other != number);
        }
    }

    /// Removes every node of a space.
    pub(crate) fn end(&mut self, space: SpaceId) {
        let all: Vec<u32> = self.buckets.iter().flatten().copied().collect();
        for number in all {
            if self.get(number).is_some_and(|node| node.key().0 == space) {
                self.remove(number);
            }
        }
    }

    /// Walks the chain of a key up to the node for which `found` returns something. Each node's tag
    /// and pointer are read. `found` receives the node and its address, and reads the rest.
    pub(crate) fn walk<R>(
        &mut self,
        key: (SpaceId, u64),
        reads: &mut dyn FnMut(TableRead),
        mut found: impl FnMut(&N, u64, &mut dyn FnMut(TableRead)) -> Option<R>,
    ) -> Option<R> {
        let bucket = self.bucket(key);
        if self.heads == ChainHead::Pointer {
            let address = self.heads_address() + bucket as u64 * u64::from(POINTER_BYTES);
            reads(TableRead::further(address, POINTER_BYTES));
        } else if self.buckets[bucket].is_empty() {
            // The first node's place is read to learn that it is empty.
            let address = self.heads_address() + ((bucket as u64) << HEAD_SHIFT);
            reads(TableRead::of_node(address, HEAD_BYTES));
        }
        for at in 0..self.buckets[bucket].len() {
            let number = self.buckets[bucket][at];
            let address = self.nodes.address(number);
            reads(TableRead::of_node(address, HEAD_BYTES));
            let Some(node) = self.nodes.get(number).filter(|node| node.key() == key) else {
                continue;
            };
            if let Some(result) = found(node, address, reads) {
                if self.heads == ChainHead::Pointer {
                    self.buckets[bucket][..=at].rotate_right(1);
                }
                return Some(result);
            }
        }
        None
    }

    /// The address of the bucket array.
    const fn heads_address(&self) -> u64 {
        self.nodes.address(0) + HEADS
    }

    /// The memory of all chains.
    pub(crate) fn size(&self) -> TableSize {
        let fixed = match self.heads {
            ChainHead::Node => 0,
            ChainHead::Pointer => (self.buckets.len() as u64) * u64::from(POINTER_BYTES),
        };
        TableSize {
            fixed,
            ..TableSize::of(self.nodes.len(), self.bytes)
        }
    }
}

/// The bucket arrays lie apart from the nodes of their region.
const HEADS: u64 = 1 << 43;
/// The distance of two empty buckets, as a power of two.
const HEAD_SHIFT: u32 = 8;
