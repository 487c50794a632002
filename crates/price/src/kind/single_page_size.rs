//! Entries for pages of one size.

use super::{EntryKind, USED_BIT};
use crate::EntryBits;
use broadleaf_units::Described;

pub(super) static SINGLE_PAGE_SIZE: EntryKind = EntryKind {
    described: Described {
        name: "single-page-size",
        summary: "an entry maps one page, and all pages have one size",
        explanation: "The tag has the number of the address space, the page number and a valid \
                      bit. The data are the number of the physical page and the attributes. It is \
                      the reference of all prices: area and access time of other kinds are given \
                      relative to it.",
        source: "Talluri 1995, section 2.2",
    },
    bits: |widths, _| EntryBits {
        data: widths.mapping(),
        words: 1,
        compared: widths.context + widths.virtual_page(),
        dont_care: 0,
        valid: 1,
        status: USED_BIT,
    },
};
