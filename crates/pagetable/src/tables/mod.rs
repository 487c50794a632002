//! The page tables, one in each file.

use crate::PageTableKind;
use broadleaf_units::catalogue;

catalogue! {
    /// The catalogue of page tables.
    pub static PAGE_TABLES: PageTableKind = [
        x86_64::X86_64,
        x86_64_la57::X86_64_LA57,
        arm_contiguous::ARM_CONTIGUOUS,
        forward_mapped::FORWARD_MAPPED,
        linear::LINEAR,
        linear_1::LINEAR_1,
        hashed::HASHED,
        hashed_replicated::HASHED_REPLICATED,
        hashed_superpage::HASHED_SUPERPAGE,
        inverted::INVERTED,
        software_tlb::SOFTWARE_TLB,
        clustered::CLUSTERED,
        clustered_partial::CLUSTERED_PARTIAL,
        clustered_general::CLUSTERED_GENERAL,
        clustered_two_level::CLUSTERED_TWO_LEVEL,
        clustered_software_tlb::CLUSTERED_SOFTWARE_TLB,
        elastic_cuckoo::ELASTIC_CUCKOO,
        ranges::RANGES,
        nested::{NESTED, NESTED_2M},
    ];
}

/// The radix tree of x86-64.
pub(crate) const fn x86_64() -> &'static PageTableKind {
    &x86_64::X86_64
}

/// No address ranges: for tables without levels.
const fn no_spans(_base: broadleaf_units::PageSize) -> Vec<broadleaf_units::PageSize> {
    Vec::new()
}
