//! Trees of nodes, one level for each field of an address. Superpages are leaves nearer to the
//! root.
//!
//! A page whose size is not that of a level has its leaf in each entry that the page covers at the
//! next smaller level (replicated entries, Talluri 1995, section 7.5).

use crate::parts::nodes::Nodes;
use crate::parts::shared::{NodeContent, SharedNodes};
use crate::{LevelSize, PageTableChoice, TableRead, TableSize};
use broadleaf_units::{AlignedRun, Leaf, PageNumber, PageSize, SpaceId, StructureParameter};
use std::collections::BTreeMap;

/// The bytes of an entry, as a power of two.
const ENTRY_SHIFT: u32 = 3;
/// The bytes of an entry.
pub(crate) const ENTRY_BYTES: u32 = 1 << ENTRY_SHIFT;
/// The most levels of a tree.
const MOST_LEVELS: usize = 8;

/// An entry of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum RadixEntry {
    /// Nothing is mapped.
    #[default]
    Unused,
    /// The node of the next level.
    Child(u32),
    /// A page.
    Leaf(Leaf),
}

/// A node.
#[derive(Clone, Debug)]
struct RadixNode {
    entries: Vec<RadixEntry>,
    used: u32,
    level: usize,
    /// What the node's entries are, if nodes can be shared.
    content: NodeContent,
}

/// One step of a walk: an entry of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RadixStep {
    pub(crate) node: u32,
    /// The physical address of the entry.
    pub(crate) address: u64,
}

/// The trees of all address spaces.
#[derive(Clone, Debug)]
pub(crate) struct Radix {
    /// The address bits inside a base page.
    base_shift: u32,
    /// The address bits that each level translates, the level of base pages first.
    widths: Vec<u32>,
    /// The root of each space, by the address bits above the tree.
    roots: BTreeMap<(SpaceId, u64), u32>,
    nodes: Nodes<RadixNode>,
    sizes: Vec<LevelSize>,
    /// The nodes of base pages by content, if several spaces can have one in common.
    shared: Option<SharedNodes>,
}

/// A parameter of trees.
pub(crate) const SHARED: StructureParameter = StructureParameter::flag(
    "shared",
    false,
    "nodes of base pages with equal entries are one node, of several processes too",
);

impl Radix {
    /// An empty tree. `widths` are the address bits that each level translates, the level of base
    /// pages first.
    pub(crate) fn new(base: PageSize, widths: &[u32]) -> Self {
        let widest = widths.iter().copied().max().unwrap_or(0);
        Self {
            base_shift: u32::from(base.shift()),
            widths: widths.to_vec(),
            roots: BTreeMap::new(),
            nodes: Nodes::new(0, widest + ENTRY_SHIFT),
            sizes: vec![LevelSize::default(); widths.len()],
            shared: None,
        }
    }

    /// The tree with the parameters of a choice.
    pub(crate) fn with(mut self, choice: &PageTableChoice) -> Self {
        self.shared = choice.flag(SHARED.name).then(SharedNodes::default);
        self
    }

    /// A tree whose nodes are as large as base pages and translate so many address bits.
    pub(crate) fn of_pages(base: PageSize, bits: u32) -> Self {
        let width = u32::from(base.shift()) - ENTRY_SHIFT;
        let levels = (bits - u32::from(base.shift())).div_ceil(width);
        Self::new(base, &vec![width; levels as usize])
    }

    /// The address ranges that an entry of each level above the base pages covers.
    pub(crate) fn spans(&self) -> Vec<PageSize> {
        let shifts = (1..self.levels()).map(|level| self.shift(level) as u8);
        shifts.filter_map(PageSize::from_shift).collect()
    }

    pub(crate) fn levels(&self) -> usize {
        self.widths.len()
    }

    /// The address bits below the index of a level. Level 0 is the one of base pages.
    pub(crate) fn shift(&self, level: usize) -> u32 {
        self.base_shift + self.widths[..level].iter().sum::<u32>()
    }

    /// The level whose entries hold pages of this size, and the number of entries that each page
    /// covers.
    fn level_of(&self, size: PageSize) -> (usize, usize) {
        let shift = u32::from(size.shift()).max(self.base_shift);
        let level = (0..self.levels())
            .rev()
            .find(|level| self.shift(*level) <= shift);
        let level = level.unwrap_or(0);
        (level, 1 << (shift - self.shift(level)))
    }

    fn root_of(&self, space: SpaceId, address: u64) -> (SpaceId, u64) {
        let bits = self.shift(self.levels());
        (space, address.checked_shr(bits).unwrap_or(0))
    }

    fn index(&self, address: u64, level: usize) -> usize {
        (address >> self.shift(level)) as usize & ((1 << self.widths[level]) - 1)
    }

    fn add(&mut self, level: usize) -> u32 {
        let entries = 1_usize << self.widths[level];
        self.sizes[level].nodes += 1;
        self.sizes[level].bytes += (entries as u64) << ENTRY_SHIFT;
        let entries = vec![RadixEntry::Unused; entries];
        self.nodes.add(RadixNode {
            entries,
            used: 0,
            level,
            content: NodeContent::default(),
        })
    }

    /// Returns true if there is a node of that number.
    pub(crate) fn has(&self, node: u32) -> bool {
        self.nodes.get(node).is_some()
    }

    fn entry(&self, node: u32, index: usize) -> RadixEntry {
        self.nodes
            .get(node)
            .map_or(RadixEntry::Unused, |node| node.entries[index])
    }

    /// Stores an entry. Returns true if the node holds nothing any more.
    fn store(&mut self, number: u32, index: usize, entry: RadixEntry) -> bool {
        let Some(node) = self.nodes.get_mut(number) else {
            return false;
        };
        let before = std::mem::replace(&mut node.entries[index], entry);
        node.used += u32::from(entry != RadixEntry::Unused);
        let is_new = node.used == u32::from(entry != RadixEntry::Unused);
        node.used -= u32::from(before != RadixEntry::Unused);
        if let Some(shared) = self.shared.as_mut().filter(|_| node.level == 0) {
            let old = node.content;
            for entry in [before, entry] {
                if let RadixEntry::Leaf(leaf) = entry {
                    node.content = node.content.with(index, &leaf);
                }
            }
            let (from, to) = (Some(old).filter(|_| !is_new), Some(node.content));
            shared.change(number, from, to.filter(|_| node.used > 0));
        }
        node.used == 0
    }

    /// Gives a node and the nodes below it back.
    fn release(&mut self, number: u32) {
        let Some(node) = self.nodes.remove(number) else {
            return;
        };
        if let Some(shared) = &mut self.shared {
            shared.change(number, Some(node.content).filter(|_| node.used > 0), None);
        }
        self.sizes[node.level].nodes -= 1;
        self.sizes[node.level].bytes -= (node.entries.len() as u64) << ENTRY_SHIFT;
        for entry in node.entries {
            if let RadixEntry::Child(child) = entry {
                self.release(child);
            }
        }
    }

    /// The nodes from the root down to `level`, root first. `None` if one is missing.
    fn path(&self, space: SpaceId, address: u64, level: usize) -> Option<Vec<u32>> {
        let mut path = vec![*self.roots.get(&self.root_of(space, address))?];
        for above in (level + 1..self.levels()).rev() {
            let RadixEntry::Child(child) = self.entry(*path.last()?, self.index(address, above))
            else {
                return None;
            };
            path.push(child);
        }
        Some(path)
    }

    pub(crate) fn map(&mut self, space: SpaceId, leaf: Leaf) {
        let address = address_of(leaf.run.first);
        let (level, entries) = self.level_of(leaf.run.size);
        let key = self.root_of(space, address);
        let top = self.levels() - 1;
        let mut node = match self.roots.get(&key) {
            Some(root) => *root,
            None => {
                let root = self.add(top);
                self.roots.insert(key, root);
                root
            }
        };
        for above in (level + 1..=top).rev() {
            let index = self.index(address, above);
            node = match self.entry(node, index) {
                RadixEntry::Child(child) => child,
                RadixEntry::Unused | RadixEntry::Leaf(_) => {
                    let child = self.add(above - 1);
                    self.store(node, index, RadixEntry::Child(child));
                    child
                }
            };
        }
        let first = self.index(address, level);
        for index in first..first + entries {
            if let RadixEntry::Child(child) = self.entry(node, index) {
                self.release(child);
            }
            self.store(node, index, RadixEntry::Leaf(leaf));
        }
    }

    pub(crate) fn unmap(&mut self, space: SpaceId, run: AlignedRun) {
        let address = address_of(run.first);
        let (mut level, entries) = self.level_of(run.size);
        let Some(mut path) = self.path(space, address, level) else {
            return;
        };
        let Some(mut node) = path.pop() else { return };
        let mut is_empty = false;
        let index = self.index(address, level);
        for index in index..index + entries {
            if let RadixEntry::Leaf(leaf) = self.entry(node, index)
                && leaf.run == run
            {
                is_empty = self.store(node, index, RadixEntry::Unused);
            }
        }
        while is_empty {
            self.release(node);
            let Some(above) = path.pop() else {
                self.roots.remove(&self.root_of(space, address));
                return;
            };
            level += 1;
            is_empty = self.store(above, self.index(address, level), RadixEntry::Unused);
            node = above;
        }
    }

    pub(crate) fn end(&mut self, space: SpaceId) {
        let keys = self.roots.range((space, 0)..=(space, u64::MAX));
        let keys: Vec<(SpaceId, u64)> = keys.map(|(key, _)| *key).collect();
        for key in keys {
            if let Some(root) = self.roots.remove(&key) {
                self.release(root);
            }
        }
    }

    /// The entries that lead from the root to a page, root first, and the leaf that the last one
    /// holds.
    pub(crate) fn steps(
        &self,
        space: SpaceId,
        page: PageNumber,
    ) -> ([Option<RadixStep>; MOST_LEVELS], Option<Leaf>) {
        let address = address_of(page);
        let mut steps = [None; MOST_LEVELS];
        let Some(mut node) = self.roots.get(&self.root_of(space, address)).copied() else {
            return (steps, None);
        };
        for (step, level) in steps.iter_mut().zip((0..self.levels()).rev()) {
            let index = self.index(address, level);
            let address = self.address(node) + ((index as u64) << ENTRY_SHIFT);
            *step = Some(RadixStep { node, address });
            match self.entry(node, index) {
                RadixEntry::Unused => return (steps, None),
                RadixEntry::Leaf(leaf) => return (steps, Some(leaf)),
                RadixEntry::Child(child) => node = child,
            }
        }
        (steps, None)
    }

    /// The physical address of a node, which it may share with others.
    fn address(&self, number: u32) -> u64 {
        let shared = || {
            let content = self.nodes.get(number).filter(|node| node.level == 0)?;
            self.shared.as_ref()?.holder(content.content)
        };
        self.nodes.address(shared().unwrap_or(number))
    }

    /// The leaves of a space, each once, in no order.
    pub(crate) fn leaves(&self, space: SpaceId) -> Vec<Leaf> {
        let roots = self.roots.range((space, 0)..=(space, u64::MAX));
        let mut nodes: Vec<u32> = roots.map(|(_, root)| *root).collect();
        let mut leaves = Vec::new();
        while let Some(number) = nodes.pop() {
            let entries = self.nodes.get(number).map_or(&[][..], |node| &node.entries);
            for entry in entries {
                match entry {
                    RadixEntry::Unused => {}
                    RadixEntry::Child(child) => nodes.push(*child),
                    RadixEntry::Leaf(leaf) if leaves.last() == Some(leaf) => {}
                    RadixEntry::Leaf(leaf) => leaves.push(*leaf),
                }
            }
        }
        leaves
    }

    /// Walks from the root down.
    pub(crate) fn walk(
        &self,
        space: SpaceId,
        page: PageNumber,
        reads: &mut dyn FnMut(TableRead),
    ) -> Option<Leaf> {
        let (steps, leaf) = self.steps(space, page);
        let steps = steps.iter().flatten();
        steps.for_each(|step| reads(TableRead::of_node(step.address, ENTRY_BYTES)));
        leaf
    }

    pub(crate) fn size(&self) -> TableSize {
        let mut levels = self.sizes.clone();
        if let (Some(shared), Some(level)) = (&self.shared, levels.first_mut()) {
            level.nodes = shared.len();
            level.bytes = shared.len() << (self.widths[0] + ENTRY_SHIFT);
        }
        TableSize { levels, fixed: 0 }
    }
}

/// The first byte of a page of 4 KiB.
pub(crate) const fn address_of(page: PageNumber) -> u64 {
    page.0 << PageSize::SIZE_4K.shift()
}
