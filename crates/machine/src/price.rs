//! The plans of a machine's TLBs, from which prices follow.

use broadleaf_price::{EntryKind, EntryReach, FieldWidths, TlbPlan};
use broadleaf_tlb::Structure;

/// The plan of a structure, with Talluri's widths of addresses (64 and 48 bits) and the smallest
/// page of the structure. `None` if no kind of entry describes the structure's organisation, or if
/// a number is too large.
///
/// The kind has the name of the organisation. Plain sets of ways hold pages of one size or of
/// several.
pub fn tlb_plan(structure: &Structure) -> Option<TlbPlan> {
    let organisation = structure.organisation;
    let kind = match EntryKind::named(organisation.described.name) {
        Some(kind) => kind,
        None if organisation.is_set_associative() => match structure.pages.len() {
            1 => EntryKind::single_page_size(),
            _ => EntryKind::superpage(),
        },
        None => return None,
    };
    let shifts = structure
        .pages
        .iter()
        .map(|(size, _)| u32::from(size.shift()));
    let (smallest, largest) = (shifts.clone().min()?, shifts.max()?);
    let order = match organisation.neighbours {
        0 => largest - smallest,
        block => block,
    };
    let reach = EntryReach {
        order,
        sizes: u32::try_from(structure.pages.len()).ok()?,
    };
    let bits = (kind.bits)(&FieldWidths::with_page_offset(smallest), reach);
    let entries = u32::try_from(structure.entries).ok()?;
    Some(if structure.sets() == 1 {
        TlbPlan::fully_associative(entries, bits)
    } else {
        TlbPlan::set_associative(entries, u32::try_from(structure.ways).ok()?, bits)
    })
}
