//! Entries for pages of several sizes.

use super::{EntryKind, USED_BIT};
use crate::EntryBits;
use broadleaf_units::Described;

pub(super) static SUPERPAGE: EntryKind = EntryKind {
    described: Described {
        name: "superpage",
        summary: "an entry maps one page of any supported size",
        explanation: "The low bits of the page number, up to the size of the largest superpage, \
                      are don't-care cells: each stores a tag bit and a mask bit, and takes the \
                      room of two. The data have the field SZ in addition, of log2(number of \
                      supported sizes) bits, rounded up.",
        source: "Talluri 1995, section 2.2 and appendix A",
    },
    bits: |widths, reach| EntryBits {
        data: widths.mapping() + reach.sizes.max(1).next_power_of_two().ilog2(),
        words: 1,
        compared: widths.context + widths.virtual_page(),
        dont_care: reach.order,
        valid: 1,
        status: USED_BIT,
    },
};
