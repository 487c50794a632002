//! The plans of a machine's TLBs, from which prices follow.

use broadleaf_price::{EntryKind, EntryReach, FieldWidths, TlbPlan};
use broadleaf_tlb::{Organisation, OrganisationChoice, Structure};

/// The plan of a structure, with Talluri's widths of addresses (64 and 48 bits) and the smallest
/// page of the structure. `None` if no kind of entry describes the structure's entries, or if a
/// number is too large.
pub fn tlb_plan(structure: &Structure) -> Option<TlbPlan> {
    let shifts = structure
        .pages
        .iter()
        .map(|(size, _)| u32::from(size.shift()));
    let smallest = shifts.min()?;
    let (kind, reach) = entry_kind(structure, smallest)?;
    let bits = (kind.bits)(&FieldWidths::with_page_offset(smallest), reach);
    let entries = u32::try_from(structure.entries).ok()?;
    Some(if structure.sets() == 1 {
        TlbPlan::fully_associative(entries, bits)
    } else {
        TlbPlan::set_associative(entries, u32::try_from(structure.ways).ok()?, bits)
    })
}

/// The kind of a structure's entries: that with the name of the organisation. Plain sets of ways
/// hold pages of one size or of several. A coalesced entry holds a page or a whole block, as an
/// entry for superpages does.
fn entry_kind(structure: &Structure, smallest: u32) -> Option<(&'static EntryKind, EntryReach)> {
    let choice = &structure.organisation;
    let name = choice.organisation().described.name;
    let mut shifts: Vec<u32> = (structure.pages.iter())
        .map(|(size, _)| u32::from(size.shift()))
        .collect();
    let block = choice.size("block").map(|size| u32::from(size.shift()));
    if let (Some(kind), Some(block)) = (EntryKind::named(name), block) {
        // A page larger than a block has don't-care bits that the kinds lack.
        let fits = shifts.iter().all(|shift| *shift <= block) && has_known_fields(choice);
        return fits.then_some((kind, EntryReach::block(block - smallest)));
    }
    let is_plain = choice.organisation() == Organisation::set_associative();
    if !is_plain && name != "coalesced" {
        return None;
    }
    shifts.extend(block);
    shifts.sort_unstable();
    shifts.dedup();
    let reach = EntryReach {
        order: shifts.last()? - smallest,
        sizes: u32::try_from(shifts.len()).ok()?,
    };
    let kind = match reach.sizes {
        1 => EntryKind::single_page_size(),
        _ => EntryKind::superpage(),
    };
    Some((kind, reach))
}

/// The values of subblock organisations' parameters with which the fields of an entry are those of
/// a kind.
const KNOWN_FIELDS: [(&str, &[&str]); 5] = [
    ("superpages", &["fill"]),
    ("modified", &["block", "attribute"]),
    ("valid", &["vector"]),
    ("frames", &["placed"]),
    ("rights", &["shared"]),
];

fn has_known_fields(choice: &OrganisationChoice) -> bool {
    let is_known = |(name, values): &(&str, &[&str])| {
        let word = choice.word(name);
        // A parameter that the organisation lacks has no word.
        word.is_empty() || values.contains(&word)
    };
    KNOWN_FIELDS.iter().all(is_known)
}
