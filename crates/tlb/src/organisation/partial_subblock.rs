//! Partial-subblock entries: a tag, a frame and attributes for a block of pages, and a valid bit
//! for each page.

use super::compatibility::{ModifiedBits, SharedFields, SharedFrames, ValidBits};
use super::subblock_parameters::{
    AGAIN, BLOCK, PRELOAD, block, refuses_blocks, refuses_count, shared_block, subblock_misses,
};
use super::subblock_rules::{JoinCheck, SubblockRules};
use super::subblocks::SubblockSets;
use super::{EntryShape, Organisation};
use crate::{Structure, StructureParameter, SystemSupport};
use broadleaf_units::Described;

/// The most valid bits that fit one entry of a page table beside the frame number, and the most
/// pages that two fields of six bits can name (Talluri 1995, sections 3.4 and 7.1).
const MOST_BITS: u32 = 16;
const MOST_IN_A_RUN: u32 = 64;

const CHECK: StructureParameter = StructureParameter::word(
    "check",
    &["full", "first-tag", "never"],
    "the entries of a block that a missing page can join: all, the first one, or none",
);
const MODIFIED: StructureParameter = StructureParameter::word(
    "modified",
    &["block", "attribute", "page"],
    "one modified bit for all pages; one that clean and modified pages do not share; one a page",
);
const VALID: StructureParameter = StructureParameter::word(
    "valid",
    &["vector", "run"],
    "a valid bit for each page, or the first and the last page of a run",
);
const FRAMES: StructureParameter = StructureParameter::word(
    "frames",
    &["placed", "high-bits"],
    "pages share an entry if they are properly placed, or if their frames lie in one block",
);
const RIGHTS: StructureParameter = StructureParameter::word(
    "rights",
    &["shared", "page"],
    "access rights are those of all pages of an entry, or each page has its own",
);

pub(super) static PARTIAL_SUBBLOCK: Organisation = Organisation {
    described: Described {
        name: "partial-subblock",
        summary: "one frame number for the properly placed pages of a block",
        explanation: "An entry has the tag of an aligned block of pages, one frame number, \
                      attributes, and a valid bit for each page. Pages share an entry if they are \
                      properly placed: they lie in one aligned block of frames, each at its place \
                      in the block, with equal attributes. Any other page has an entry of its own, \
                      so a block can have several. With preload, a miss loads all pages of the \
                      block that fit.",
        source: "Talluri 1995, sections 3.4, 3.5 and 4.3, appendices B and G",
    },
    parameters: &[
        BLOCK, PRELOAD, AGAIN, CHECK, MODIFIED, VALID, FRAMES, RIGHTS,
    ],
    refuses: |structure| {
        let most = match valid(structure) {
            ValidBits::Run => MOST_IN_A_RUN,
            ValidBits::Vector | ValidBits::All => MOST_BITS,
        };
        refuses_blocks(structure, false)
            .or_else(|| refuses_count(structure, most, "partial-subblock"))
    },
    build: |structure| {
        let word = |parameter: StructureParameter| structure.organisation.word(parameter.name);
        let rules = SubblockRules {
            block: block(structure),
            own_blocks: false,
            shared: SharedFields {
                frames: match word(FRAMES) {
                    "high-bits" => SharedFrames::HighBits,
                    _ => SharedFrames::Placed,
                },
                attributes: word(RIGHTS) == "shared",
                modified: match word(MODIFIED) {
                    "page" => ModifiedBits::Page,
                    "attribute" => ModifiedBits::Attribute,
                    _ => ModifiedBits::Block,
                },
                valid: valid(structure),
            },
            preload: structure.organisation.flag(PRELOAD.name),
            check: match word(CHECK) {
                "first-tag" => JoinCheck::FirstTag,
                "never" => JoinCheck::Never,
                _ => JoinCheck::Full,
            },
            again: subblock_misses(structure),
        };
        Box::new(SubblockSets::new(structure, rules))
    },
    wants_tables: |_| true,
    // A run of valid bits can lose pages when another one leaves. A store moves the page if the
    // modified bit is an attribute.
    counts_uses: |_| false,
    keeps_pages: |structure| {
        let modified = structure.organisation.word(MODIFIED.name);
        valid(structure) == ValidBits::Vector && modified != "attribute"
    },
    grids: &[],
    block_of: Some(shared_block),
    entry: |structure| {
        // The kind has one modified bit, a valid bit for each page, one frame and one set of
        // rights.
        let word = |parameter: StructureParameter| structure.organisation.word(parameter.name);
        let is_known = word(MODIFIED) != "page"
            && word(VALID) == "vector"
            && word(FRAMES) == "placed"
            && word(RIGHTS) == "shared";
        is_known
            .then(|| EntryShape::block("partial-subblock", structure))
            .flatten()
    },
    support: Some(SystemSupport::PARTIAL_SUBBLOCK),
};

fn valid(structure: &Structure) -> ValidBits {
    match structure.organisation.word(VALID.name) {
        "run" => ValidBits::Run,
        _ => ValidBits::Vector,
    }
}
