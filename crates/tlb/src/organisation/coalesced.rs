//! Coalesced entries: all pages of a block in one entry, or one page.

use super::compatibility::{ModifiedBits, SharedFields, SharedFrames, ValidBits};
use super::subblock_parameters::{BLOCK, block, refuses_blocks, refuses_count, shared_block};
use super::subblock_rules::{JoinCheck, SubblockMisses, SubblockRules};
use super::subblocks::SubblockSets;
use super::{EntryShape, Organisation};
use crate::SystemSupport;
use broadleaf_units::Described;

/// The entries of a page table in a line of 64 bytes: the neighbours that a walk reads anyway.
const MOST: u32 = 8;

pub(super) static COALESCED: Organisation = Organisation {
    described: Described {
        name: "coalesced",
        summary: "one entry for a block whose pages are all mapped and properly placed, or one \
                  page",
        explanation: "A walk finds the neighbours of the missing page in the same line of the page \
                      table. If all pages of the aligned block are mapped, properly placed and \
                      equal in rights, one entry translates the block. Otherwise the entry \
                      translates the page alone. AMD's Zen processors do so for blocks of 16 KiB. \
                      No source says whether modified bits have to be equal: here each page has \
                      its own.",
        source: "AMD, Performance monitor counters of Zen 4 and Zen 5; Talluri 1995, section 3.4 \
                 (no valid bits)",
    },
    parameters: &[BLOCK],
    refuses: |structure| {
        refuses_blocks(structure, false).or_else(|| refuses_count(structure, MOST, "coalesced"))
    },
    build: |structure| {
        let rules = SubblockRules {
            block: block(structure),
            own_blocks: false,
            shared: SharedFields {
                frames: SharedFrames::Placed,
                attributes: true,
                modified: ModifiedBits::Page,
                valid: ValidBits::All,
            },
            preload: true,
            check: JoinCheck::Never,
            again: SubblockMisses::Demap,
        };
        Box::new(SubblockSets::new(structure, rules))
    },
    wants_tables: |_| true,
    counts_uses: |_| false,
    keeps_pages: |_| true,
    grids: &[],
    block_of: Some(shared_block),
    entry: EntryShape::page_or_block,
    support: Some(SystemSupport::COALESCED),
};
