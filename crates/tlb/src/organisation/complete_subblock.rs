//! Complete-subblock entries: a tag for a block of pages, and a frame for each page.

use super::compatibility::{ModifiedBits, SharedFields, SharedFrames, ValidBits};
use super::subblock_parameters::{
    AGAIN, BLOCK, PRELOAD, block, own_block, refuses_blocks, refuses_count, shared_block,
    subblock_misses,
};
use super::subblock_rules::{JoinCheck, SubblockRules};
use super::subblocks::SubblockSets;
use super::{EntryShape, Organisation};
use crate::{Structure, StructureParameter};
use broadleaf_units::Described;

/// The most subblocks of an entry.
const MOST: u32 = 64;

const SUPERPAGES: StructureParameter = StructureParameter::word(
    "superpages",
    &["fill", "own-blocks"],
    "a superpage fills the subblocks that it covers, or each page size has blocks of its own",
);

pub(super) static COMPLETE_SUBBLOCK: Organisation = Organisation {
    described: Described {
        name: "complete-subblock",
        summary: "a tag for a block of pages, each page with a frame of its own",
        explanation: "An entry has the tag of an aligned block of pages, and for each page a valid \
                      bit, a frame and attributes. Pages of a block share an entry wherever their \
                      frames lie. A miss in a block that has an entry (a subblock miss) fills the \
                      page's place and replaces nothing. With preload, a miss loads all pages of \
                      the block. A superpage fills the places that it covers; one larger than the \
                      block takes one entry, in the set of its own index. With own-blocks, each \
                      page size has blocks of the same number of pages.",
        source: "Talluri 1995, sections 3.3, 3.5 and 4.2, appendices E and F",
    },
    parameters: &[BLOCK, PRELOAD, AGAIN, SUPERPAGES],
    refuses: |structure| {
        let own = owns_blocks(structure);
        refuses_blocks(structure, own)
            .or_else(|| refuses_count(structure, MOST, "complete-subblock"))
    },
    build: |structure| {
        let rules = SubblockRules {
            block: block(structure),
            own_blocks: owns_blocks(structure),
            shared: SharedFields {
                frames: SharedFrames::None,
                attributes: false,
                modified: ModifiedBits::Page,
                valid: ValidBits::Vector,
            },
            preload: structure.organisation.flag(PRELOAD.name),
            check: JoinCheck::Full,
            again: subblock_misses(structure),
        };
        Box::new(SubblockSets::new(structure, rules))
    },
    wants_tables: |_| true,
    counts_uses: |_| false,
    keeps_pages: |structure| !owns_blocks(structure),
    grids: &[],
    block_of: Some(|choice, size, base| {
        let is_own = choice.word(SUPERPAGES.name) == "own-blocks";
        if is_own {
            own_block(choice, size, base)
        } else {
            shared_block(choice, size, base)
        }
    }),
    entry: |structure| {
        // The kind has one size of blocks.
        let is_known = !owns_blocks(structure);
        is_known
            .then(|| EntryShape::block("complete-subblock", structure))
            .flatten()
    },
    support: None,
};

fn owns_blocks(structure: &Structure) -> bool {
    structure.organisation.word(SUPERPAGES.name) == "own-blocks"
}
