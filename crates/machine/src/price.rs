//! The plans of a machine's TLBs, from which prices follow.

use broadleaf_price::{EntryKind, EntryReach, FieldWidths, TlbPlan};
use broadleaf_tlb::Structure;

/// The plan of a structure, with Talluri's widths of addresses (64 and 48 bits) and the smallest
/// page of the structure. If each entry has the configuration of a scattered superpage, it lies
/// beside the frame number. `None` if no kind of entry describes the structure's entries, or if a
/// number is too large.
pub fn tlb_plan(structure: &Structure) -> Option<TlbPlan> {
    let shifts = structure
        .pages
        .iter()
        .map(|(size, _)| u32::from(size.shift()));
    let smallest = shifts.min()?;
    let (kind, reach) = entry_kind(structure, smallest)?;
    let mut bits = (kind.bits)(&FieldWidths::with_page_offset(smallest), reach);
    bits.data += structure.configuration_bits_of_entry();
    let entries = u32::try_from(structure.entries).ok()?;
    Some(if structure.sets() == 1 {
        TlbPlan::fully_associative(entries, bits)
    } else {
        TlbPlan::set_associative(entries, u32::try_from(structure.ways).ok()?, bits)
    })
}

/// The kind of a structure's entries, and the pages that an entry can map.
fn entry_kind(structure: &Structure, smallest: u32) -> Option<(&'static EntryKind, EntryReach)> {
    let shape = (structure.organisation.entry().entry)(structure)?;
    let largest = shape.maps.last()?.shift();
    let reach = EntryReach {
        order: u32::from(largest).checked_sub(smallest)?,
        sizes: u32::try_from(shape.maps.len()).ok()?,
    };
    Some((EntryKind::named(shape.kind)?, reach))
}
