//! The radix tree of x86-64: nodes of one base page, superpage leaves nearer to the root.
//!
//! A node has as many entries of eight bytes as a base page holds: 512 for 4 KiB. A page whose size
//! is not that of a level has its leaf in each entry that the page covers at the next smaller level
//! (replicated entries, Talluri 1995, section 5.3).

use super::{PageTable, PageTableKind};
use broadleaf_units::{AlignedRun, Described, Leaf, PageNumber, PageSize, SpaceId};
use std::collections::BTreeMap;

pub(super) static X86_64: PageTableKind = PageTableKind {
    described: Described {
        name: "x86-64",
        summary: "the radix tree of x86-64, whose leaves are 4 KiB and 2 MiB pages",
        explanation: "A superpage is a leaf one level nearer to the root. What a walk costs comes \
                      from the machine's table of cycles for each page size; the tree's own memory \
                      references and the caches of its upper levels are in that mean and are not \
                      modelled one by one. With --memory, leaves are of whichever sizes a machine \
                      has.",
        source: "Intel SDM volume 3, section 4.5; Zhu 2018, chapter 6",
    },
    build: |base| Box::new(Radix::new(base)),
    spans: |base| {
        let tree = Radix::new(base);
        let shifts = (1..tree.levels).map(|level| tree.shift(level) as u8);
        shifts.filter_map(PageSize::from_shift).collect()
    },
    cost_by_size: true,
};

/// The bits of an address that the levels of a tree translate. Higher bits choose the root.
const ADDRESS_BITS: u32 = 48;

/// The bytes of an entry, as a power of two.
const ENTRY_SHIFT: u32 = 3;

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

/// A node: one base page of entries.
#[derive(Clone, Debug)]
struct RadixNode {
    entries: Vec<RadixEntry>,
    used: u32,
}

/// The radix trees of all address spaces.
#[derive(Clone, Debug)]
struct Radix {
    /// The address bits inside a base page.
    base_shift: u32,
    /// The address bits that one level translates.
    level_bits: u32,
    /// The number of levels.
    levels: u32,
    /// The root of each space, by the address bits above the tree.
    roots: BTreeMap<(SpaceId, u64), u32>,
    nodes: Vec<RadixNode>,
    unused: Vec<u32>,
}

impl Radix {
    fn new(base: PageSize) -> Self {
        let base_shift = u32::from(base.shift());
        let level_bits = base_shift - ENTRY_SHIFT;
        Self {
            base_shift,
            level_bits,
            levels: (ADDRESS_BITS - base_shift).div_ceil(level_bits),
            roots: BTreeMap::new(),
            nodes: Vec::new(),
            unused: Vec::new(),
        }
    }

    /// The address bits below the index of a level. Level 0 is the one of base pages.
    const fn shift(&self, level: u32) -> u32 {
        self.base_shift + level * self.level_bits
    }

    /// The level whose entries hold pages of this size, and the number of entries that each page
    /// covers.
    fn level_of(&self, size: PageSize) -> (u32, usize) {
        let shift = u32::from(size.shift()).max(self.base_shift);
        let level = ((shift - self.base_shift) / self.level_bits).min(self.levels - 1);
        (level, 1 << (shift - self.shift(level)))
    }

    fn root_of(&self, space: SpaceId, address: u64) -> (SpaceId, u64) {
        let bits = self.base_shift + self.levels * self.level_bits;
        (space, address >> bits)
    }

    fn index(&self, address: u64, level: u32) -> usize {
        (address >> self.shift(level)) as usize & ((1 << self.level_bits) - 1)
    }

    fn add(&mut self) -> u32 {
        let node = RadixNode {
            entries: vec![RadixEntry::Unused; 1 << self.level_bits],
            used: 0,
        };
        if let Some(number) = self.unused.pop() {
            self.nodes[number as usize] = node;
            return number;
        }
        self.nodes.push(node);
        (self.nodes.len() - 1) as u32
    }

    /// Stores an entry. Returns true if the node holds nothing any more.
    fn store(&mut self, node: u32, index: usize, entry: RadixEntry) -> bool {
        let node = &mut self.nodes[node as usize];
        let before = std::mem::replace(&mut node.entries[index], entry);
        node.used += u32::from(entry != RadixEntry::Unused);
        node.used -= u32::from(before != RadixEntry::Unused);
        node.used == 0
    }

    /// Gives a node and the nodes below it back.
    fn release(&mut self, node: u32) {
        let entries = std::mem::take(&mut self.nodes[node as usize].entries);
        for entry in entries {
            if let RadixEntry::Child(child) = entry {
                self.release(child);
            }
        }
        self.unused.push(node);
    }

    /// The nodes from the root down to `level`, root first. `None` if one is missing.
    fn path(&self, space: SpaceId, address: u64, level: u32) -> Option<Vec<u32>> {
        let mut path = vec![*self.roots.get(&self.root_of(space, address))?];
        for above in (level + 1..self.levels).rev() {
            let node = &self.nodes[*path.last()? as usize];
            let RadixEntry::Child(child) = node.entries[self.index(address, above)] else {
                return None;
            };
            path.push(child);
        }
        Some(path)
    }
}

/// The first byte of a page of 4 KiB.
const fn address_of(page: PageNumber) -> u64 {
    page.0 << PageSize::SIZE_4K.shift()
}

impl PageTable for Radix {
    fn map(&mut self, space: SpaceId, leaf: Leaf) {
        let address = address_of(leaf.run.first);
        let (level, entries) = self.level_of(leaf.run.size);
        let key = self.root_of(space, address);
        let mut node = match self.roots.get(&key) {
            Some(root) => *root,
            None => {
                let root = self.add();
                self.roots.insert(key, root);
                root
            }
        };
        for above in (level + 1..self.levels).rev() {
            let index = self.index(address, above);
            node = match self.nodes[node as usize].entries[index] {
                RadixEntry::Child(child) => child,
                RadixEntry::Unused | RadixEntry::Leaf(_) => {
                    let child = self.add();
                    self.store(node, index, RadixEntry::Child(child));
                    child
                }
            };
        }
        let first = self.index(address, level);
        for index in first..first + entries {
            if let RadixEntry::Child(child) = self.nodes[node as usize].entries[index] {
                self.release(child);
            }
            self.store(node, index, RadixEntry::Leaf(leaf));
        }
    }

    fn unmap(&mut self, space: SpaceId, run: AlignedRun) {
        let address = address_of(run.first);
        let (mut level, entries) = self.level_of(run.size);
        let Some(mut path) = self.path(space, address, level) else {
            return;
        };
        let Some(mut node) = path.pop() else { return };
        let mut is_empty = false;
        let index = self.index(address, level);
        for index in index..index + entries {
            if let RadixEntry::Leaf(leaf) = &self.nodes[node as usize].entries[index]
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

    fn end(&mut self, space: SpaceId) {
        let keys = self.roots.range((space, 0)..=(space, u64::MAX));
        let keys: Vec<(SpaceId, u64)> = keys.map(|(key, _)| *key).collect();
        for key in keys {
            if let Some(root) = self.roots.remove(&key) {
                self.release(root);
            }
        }
    }

    fn walk(&self, space: SpaceId, page: PageNumber, reads: &mut dyn FnMut(u64)) -> Option<Leaf> {
        let address = address_of(page);
        let mut node = *self.roots.get(&self.root_of(space, address))?;
        for level in (0..self.levels).rev() {
            let index = self.index(address, level);
            reads((u64::from(node) << self.base_shift) + ((index as u64) << ENTRY_SHIFT));
            match self.nodes[node as usize].entries[index] {
                RadixEntry::Unused => return None,
                RadixEntry::Leaf(leaf) => return Some(leaf),
                RadixEntry::Child(child) => node = child,
            }
        }
        None
    }

    fn bytes(&self) -> u64 {
        ((self.nodes.len() - self.unused.len()) as u64) << self.base_shift
    }
}
