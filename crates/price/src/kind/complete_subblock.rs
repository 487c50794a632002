//! Entries for blocks of pages, with a mapping for each page.

use super::{EntryKind, USED_BIT};
use crate::EntryBits;
use broadleaf_units::Described;

pub(super) static COMPLETE_SUBBLOCK: EntryKind = EntryKind {
    described: Described {
        name: "complete-subblock",
        summary: "an entry has one tag for an aligned block of pages, and a mapping for each page",
        explanation: "The tag is shorter by log2 of the number of subblocks, and has a \
                      block-valid bit. The data have a valid bit, a page number and attributes \
                      for each subblock. Column multiplexors of the data array select one \
                      subblock.",
        source: "Talluri 1995, section 2.2, chapter 4 and appendices B and C",
    },
    bits: |widths, reach| EntryBits {
        data: (widths.mapping() + SUBBLOCK_VALID) << reach.order,
        words: 1 << reach.order,
        compared: (widths.context + widths.virtual_page()).saturating_sub(reach.order),
        dont_care: 0,
        valid: 1,
        status: USED_BIT,
    },
};

/// The valid bit of a subblock, in the data array.
const SUBBLOCK_VALID: u32 = 1;
