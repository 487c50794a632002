//! Complete-subblock entries: a tag for a block of pages, and a frame for each page.

use super::compatibility::{ModifiedBits, SharedFields, SharedFrames, ValidBits};
use super::subblock_rules::{JoinCheck, SubblockMisses, SubblockRules};
use super::subblocks::SubblockSets;
use super::{Organisation, StructureParameter};
use crate::{ProbeOrder, Structure};
use broadleaf_units::{Described, PageSize};

/// The most subblocks of an entry.
const MOST: u32 = 64;

/// The size of a block.
pub(super) const BLOCK: StructureParameter =
    StructureParameter::size("block", "the size of the block of pages that shares a tag");
/// Preloading.
pub(super) const PRELOAD: StructureParameter = StructureParameter::flag(
    "preload",
    false,
    "a miss loads the other pages of the block too, if they fit the entry",
);
/// The handling of misses in blocks that have an entry.
pub(super) const AGAIN: StructureParameter = StructureParameter::word(
    "subblock-miss",
    &["demap", "load-page"],
    "with preload: a miss in a block that has an entry loads the block anew, or the page alone",
);
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
};

fn owns_blocks(structure: &Structure) -> bool {
    structure.organisation.word(SUPERPAGES.name) == "own-blocks"
}

/// The size of a structure's blocks. Structures without a block size are refused.
pub(super) fn block(structure: &Structure) -> PageSize {
    let block = structure.organisation.size(BLOCK.name);
    block.unwrap_or_else(|| structure.pages[0].0)
}

pub(super) fn subblock_misses(structure: &Structure) -> SubblockMisses {
    match structure.organisation.word(AGAIN.name) {
        "load-page" => SubblockMisses::LoadPage,
        _ => SubblockMisses::Demap,
    }
}

/// The reason why a structure cannot have blocks of its size.
pub(super) fn refuses_blocks(structure: &Structure, own: bool) -> Option<String> {
    let Some(block) = structure.organisation.size(BLOCK.name) else {
        return Some("a subblock organisation needs the size of its block: block = \"16k\"".into());
    };
    let (base, index) = structure.pages.first()?;
    if block <= *base {
        let (block, base) = (block.short_name(), base.short_name());
        return Some(format!(
            "a block of {block} is no larger than a page of {base}"
        ));
    }
    if !own && structure.role.probes != ProbeOrder::Parallel {
        return Some("pages of all sizes share entries, which one probe finds".to_owned());
    }
    for (size, other) in &structure.pages {
        let is_larger = !own && size > &block;
        let block = match own {
            true => u32::from(size.shift() + block.shift() - base.shift()),
            false => u32::from(block.shift().max(size.shift())),
        };
        if other.lowest_bit().is_some_and(|bit| bit < block) {
            let size = size.short_name();
            return Some(format!(
                "{other} looks at bits inside a block of {size} pages: pages of one block need \
                 one set"
            ));
        }
        if !own && !is_larger && other != index {
            return Some("pages that share entries need one index".to_owned());
        }
    }
    None
}

/// The reason why an entry cannot have the subblocks of its block.
pub(super) fn refuses_count(structure: &Structure, most: u32, kind: &str) -> Option<String> {
    let shift = block(structure)
        .shift()
        .saturating_sub(structure.pages.first()?.0.shift());
    let count = 1_u64.checked_shl(shift.into()).unwrap_or(u64::MAX);
    (count > most.into())
        .then(|| format!("{count} subblocks are more than the {most} of a {kind} entry"))
}
