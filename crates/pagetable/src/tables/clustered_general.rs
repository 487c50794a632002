//! The generalised clustered table: nodes of one page size each, in two tables.

use super::no_spans;
use crate::parts::aliases::{ALIASES, AliasRoom, BUCKETS, SUBBLOCKS, buckets, subblock_shift};
use crate::parts::chains::{ChainHead, ChainNode, Chains, HEAD_BYTES, MAPPING_BYTES};
use crate::{LevelSize, PageTable, PageTableChoice, PageTableKind, TableRead, TableSize};
use broadleaf_units::{AlignedRun, Described, Leaf, PageNumber, PageSize, SpaceId};

pub(crate) static CLUSTERED_GENERAL: PageTableKind = PageTableKind {
    described: Described {
        name: "clustered-general",
        summary: "two clustered tables whose nodes hold pages of one size each",
        explanation: "A node has the page size of its mappings, and as many mappings as its block \
                      has pages of that size. Nodes of several sizes for one block lie in one \
                      chain, so a node without the page does not end the walk. The first table has \
                      blocks of sixteen base pages, the second blocks of 256: s and s squared. \
                      Pages that are larger still have a node for each block of the second table.",
        source: "Talluri 1995, section 7.6",
    },
    parameters: &[BUCKETS, SUBBLOCKS, ALIASES],
    build: |base, choice| Box::new(General::new(base, choice)),
    spans: no_spans,
    cost_by_size: false,
};

/// Nodes lie at least this far apart, as a power of two.
const NODE_SHIFT: u32 = 8;

/// A node: the pages of one size in a block.
#[derive(Clone, Debug)]
struct GeneralNode {
    key: (SpaceId, u64),
    /// The pages of 4 KiB of each of its pages, as a power of two.
    page_shift: u32,
    /// As many as the block has pages of that size.
    leaves: Vec<Option<Leaf>>,
    /// The bytes of its pointers of a synonym table.
    alias_bytes: u64,
}

impl ChainNode for GeneralNode {
    fn key(&self) -> (SpaceId, u64) {
        self.key
    }

    fn bytes(&self) -> u64 {
        u64::from(HEAD_BYTES)
            + self.leaves.len() as u64 * u64::from(MAPPING_BYTES)
            + self.alias_bytes
    }
}

/// The two tables of all address spaces.
#[derive(Clone, Debug)]
struct General {
    /// For each table, the pages of 4 KiB of a block, as a power of two.
    block_shifts: [u32; 2],
    base_shift: u32,
    /// The most mappings of a node.
    most: usize,
    aliases: AliasRoom,
    tables: [Chains<GeneralNode>; 2],
}

impl General {
    fn new(base: PageSize, choice: &PageTableChoice) -> Self {
        let base_shift = u32::from(base.shift() - PageSize::SIZE_4K.shift());
        let shift = subblock_shift(choice);
        let (most, aliases) = (1 << shift, AliasRoom::of(choice));
        let bytes = u64::from(HEAD_BYTES) + most * u64::from(MAPPING_BYTES);
        let bytes = bytes + aliases.bytes(most, most * most);
        let node_shift = bytes.next_power_of_two().ilog2().max(NODE_SHIFT);
        let chains = |region| Chains::new(ChainHead::Node, buckets(choice), region, node_shift);
        Self {
            block_shifts: [shift, 2 * shift].map(|shift| shift + base_shift),
            base_shift,
            most: most as usize,
            aliases,
            tables: [0, 1].map(chains),
        }
    }

    /// The table for pages of a size: the first one whose blocks have room for them.
    fn table_of(&self, size: PageSize) -> usize {
        let shift = u32::from(size.shift() - PageSize::SIZE_4K.shift());
        usize::from(shift > self.block_shifts[0])
    }

    /// The blocks of a run, and the page size of their nodes, in pages of 4 KiB as a power of two.
    fn blocks(&self, run: AlignedRun) -> (usize, std::ops::Range<u64>, u32) {
        let table = self.table_of(run.size);
        let shift = self.block_shifts[table];
        let page_shift = u32::from(run.size.shift() - PageSize::SIZE_4K.shift()).min(shift);
        let (first, after) = run.bounds();
        (
            table,
            first >> shift..((after - 1) >> shift) + 1,
            page_shift,
        )
    }
}

/// The number of a page in its block.
const fn place(page: u64, block_shift: u32, page_shift: u32) -> usize {
    ((page & ((1 << block_shift) - 1)) >> page_shift) as usize
}

impl PageTable for General {
    fn map(&mut self, space: SpaceId, leaf: Leaf) {
        let (table, blocks, page_shift) = self.blocks(leaf.run);
        let shift = self.block_shifts[table];
        let (most, aliases, base_shift) = (self.most, self.aliases, self.base_shift);
        let chains = &mut self.tables[table];
        for block in blocks {
            let key = (space, block);
            let found = chains.find(key, |node| node.page_shift == page_shift);
            let number = found.unwrap_or_else(|| {
                let pages = (1_usize << (shift - page_shift)).min(most);
                let base_pages = (pages as u64) << (page_shift - base_shift);
                chains.add(GeneralNode {
                    key,
                    page_shift,
                    leaves: vec![None; pages],
                    alias_bytes: aliases.bytes(pages as u64, base_pages),
                })
            });
            let first = leaf.run.first.0.max(block << shift);
            let place = place(first, shift, page_shift);
            chains.change(number, |node| node.leaves[place] = Some(leaf));
        }
    }

    fn protect(&mut self, space: SpaceId, leaf: Leaf) {
        self.map(space, leaf);
    }

    fn unmap(&mut self, space: SpaceId, run: AlignedRun) {
        let (table, blocks, page_shift) = self.blocks(run);
        let chains = &mut self.tables[table];
        for block in blocks {
            let of_size = |node: &GeneralNode| node.page_shift == page_shift;
            let Some(number) = chains.find((space, block), of_size) else {
                continue;
            };
            let is_empty = chains.change(number, |node| {
                for leaf in &mut node.leaves {
                    leaf.take_if(|leaf| leaf.run == run);
                }
                node.leaves.iter().all(Option::is_none)
            });
            if is_empty == Some(true) {
                chains.remove(number);
            }
        }
    }

    fn end(&mut self, space: SpaceId) {
        self.tables.iter_mut().for_each(|chains| chains.end(space));
    }

    fn walk(
        &mut self,
        space: SpaceId,
        page: PageNumber,
        reads: &mut dyn FnMut(TableRead),
    ) -> Option<Leaf> {
        let shifts = self.block_shifts;
        self.tables
            .iter_mut()
            .zip(shifts)
            .find_map(|(chains, shift)| {
                chains.walk((space, page.0 >> shift), reads, |node, address, reads| {
                    let place = place(page.0, shift, node.page_shift);
                    let offset = HEAD_BYTES + place as u32 * MAPPING_BYTES;
                    reads(TableRead::further(
                        address + u64::from(offset),
                        MAPPING_BYTES,
                    ));
                    node.leaves[place].filter(|leaf| leaf.run.contains(page))
                })
            })
    }

    fn size(&self) -> TableSize {
        let levels: Vec<LevelSize> = self
            .tables
            .iter()
            .flat_map(|chains| chains.size().levels)
            .collect();
        TableSize { levels, fixed: 0 }
    }

    fn has_aliases(&self) -> bool {
        self.aliases != AliasRoom::None
    }
}
