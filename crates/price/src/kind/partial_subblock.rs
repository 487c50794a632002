//! Entries for blocks of pages, with one mapping and a valid bit for each page.

use super::{EntryKind, USED_BIT};
use crate::EntryBits;
use broadleaf_units::Described;

pub(super) static PARTIAL_SUBBLOCK: EntryKind = EntryKind {
    described: Described {
        name: "partial-subblock",
        summary: "an entry has one tag and one mapping for an aligned block of pages, and a valid \
                  bit for each page",
        explanation: "The tag is shorter by log2 of the number of subblocks, and has a valid bit \
                      for each. The valid bits take part in the comparison: the slowest of the \
                      three ways of appendix B. The data are one mapping and the bit SB, which \
                      says whether the block is properly placed.",
        source: "Talluri 1995, section 2.2, chapter 5 and appendix B",
    },
    bits: |widths, reach| EntryBits {
        data: widths.mapping() + PROPERLY_PLACED,
        words: 1,
        compared: (widths.context + widths.virtual_page()).saturating_sub(reach.order),
        dont_care: 0,
        valid: 1 << reach.order,
        status: USED_BIT,
    },
};

/// The bit SB.
const PROPERLY_PLACED: u32 = 1;
