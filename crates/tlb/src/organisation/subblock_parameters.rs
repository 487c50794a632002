//! Parameters that several subblock organisations have, and the reasons why a structure cannot have
//! blocks.

use super::subblock_rules::SubblockMisses;
use crate::{Field, OrganisationChoice, ProbeOrder, Structure, StructureParameter};
use broadleaf_units::PageSize;

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

/// The size of a structure's blocks. Structures without a block size are refused.
pub(super) fn block(structure: &Structure) -> PageSize {
    let block = structure.organisation.size(BLOCK.name);
    block.unwrap_or_else(|| structure.pages[0].0)
}

/// The block of pages of a size if pages of all sizes share blocks: a page that is larger than a
/// block is alone ([`super::BlockOfPage`]).
pub(super) fn shared_block(
    choice: &OrganisationChoice,
    size: PageSize,
    _base: PageSize,
) -> Option<PageSize> {
    Some(choice.size(BLOCK.name)?.max(size))
}

/// The block of pages of a size if each size has blocks of equally many pages
/// ([`super::BlockOfPage`]).
pub(super) fn own_block(
    choice: &OrganisationChoice,
    size: PageSize,
    base: PageSize,
) -> Option<PageSize> {
    let shift = (size.shift() + choice.size(BLOCK.name)?.shift()).checked_sub(base.shift())?;
    PageSize::from_shift(shift)
}

pub(super) fn subblock_misses(structure: &Structure) -> SubblockMisses {
    match structure.organisation.word(AGAIN.name) {
        "load-page" => SubblockMisses::LoadPage,
        _ => SubblockMisses::Demap,
    }
}

/// The wrong part and the reason why a structure cannot have blocks of its size.
pub(super) fn refuses_blocks(structure: &Structure, own: bool) -> Option<(Field, String)> {
    let wrong = |reason: String| Some((Field::Organisation, reason));
    let Some(block) = structure.organisation.size(BLOCK.name) else {
        return wrong(
            "a subblock organisation needs the size of its block: block = \"16k\"".into(),
        );
    };
    let (base, index) = structure.pages.first()?;
    if block <= *base {
        let (block, base) = (block.short_name(), base.short_name());
        let reason = format!("a block of {block} is no larger than a page of {base}");
        return Some((Field::Parameter(BLOCK.name), reason));
    }
    if !own && structure.role.probes != ProbeOrder::Parallel {
        return wrong("pages of all sizes share entries, which one probe finds".to_owned());
    }
    for (size, other) in &structure.pages {
        let is_larger = !own && size > &block;
        let block_of = if own { own_block } else { shared_block };
        let around = block_of(&structure.organisation, *size, *base)?;
        if other
            .lowest_bit()
            .is_some_and(|bit| bit < around.shift().into())
        {
            let size = size.short_name();
            return wrong(format!(
                "{other} looks at bits inside a block of {size} pages: pages of one block need \
                 one set"
            ));
        }
        if !own && !is_larger && other != index {
            return wrong("pages that share entries need one index".to_owned());
        }
    }
    None
}

/// The wrong part and the reason why an entry cannot have the subblocks of its block.
pub(super) fn refuses_count(
    structure: &Structure,
    most: u32,
    kind: &str,
) -> Option<(Field, String)> {
    let shift = block(structure)
        .shift()
        .saturating_sub(structure.pages.first()?.0.shift());
    let count = 1_u64.checked_shl(shift.into()).unwrap_or(u64::MAX);
    let reason = || format!("{count} subblocks are more than the {most} of a {kind} entry");
    (count > most.into()).then(|| (Field::Parameter(BLOCK.name), reason()))
}
