//! The names of TLBs in the tables: `csb16_sa4_b256_pre` is a complete-subblock TLB of 16 subblocks
//! and 256 blocks in 4 ways, with preloading.
//!
//! | part | meaning |
//! |---|---|
//! | `sp`, `spg64k`, `csb4`, `psb4` | single page size, superpages of 64 KiB, 4 subblocks |
//! | `fa`, `sa4`, `sa4super`, `sa4exact` | fully associative, 4-way, two indices of superpages |
//! | `b256` | 256 blocks |
//! | `pre`, `noos`, `base` | preloading, no proper placement, base pages only |
//! | `clock`, `random`, `fifo` | a replacement rule other than GODS |

use broadleaf_price::{EntryKind, EntryReach, TlbPlan};

/// The family of a TLB, with its largest reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TlbFamily {
    SinglePageSize,
    /// A base page of 4 KiB, and a superpage of `2^order` base pages.
    Superpage(u32),
    CompleteSubblock(u32),
    PartialSubblock(u32),
}

impl TlbFamily {
    /// A fully associative structure of one block.
    fn block(self) -> TlbPlan {
        let bits = match self {
            Self::SinglePageSize => EntryKind::single_page_size().talluri(EntryReach::PAGE),
            Self::Superpage(order) => EntryKind::superpage().talluri(EntryReach::superpage(order)),
            Self::CompleteSubblock(order) => {
                EntryKind::complete_subblock().talluri(EntryReach::block(order))
            }
            Self::PartialSubblock(order) => {
                EntryKind::partial_subblock().talluri(EntryReach::block(order))
            }
        };
        TlbPlan::fully_associative(1, bits)
    }

    /// The structure with this many blocks.
    pub(super) fn plan(self, ways: Option<u32>, blocks: u32) -> TlbPlan {
        TlbPlan {
            ways,
            ..self.block().with_entries(blocks)
        }
    }

    /// The family of the first part of a name.
    pub(super) fn named(name: &str) -> Option<Self> {
        if let Some(size) = name.strip_prefix("spg") {
            let kib: u32 = size.strip_suffix('k')?.parse().ok()?;
            return Some(Self::Superpage(order(kib.checked_div(4)?)?));
        }
        if let Some(factor) = name.strip_prefix("csb") {
            return Some(Self::CompleteSubblock(order(factor.parse().ok()?)?));
        }
        if let Some(factor) = name.strip_prefix("psb") {
            return Some(Self::PartialSubblock(order(factor.parse().ok()?)?));
        }
        matches!(name, "sp" | "single").then_some(Self::SinglePageSize)
    }
}

fn order(pages: u32) -> Option<u32> {
    pages.is_power_of_two().then(|| pages.ilog2())
}

/// The parts of a name that the bases of Appendix I need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TlbName<'a> {
    pub(super) family: TlbFamily,
    /// The ways, and the index of superpages.
    pub(super) organisation: &'a str,
    pub(super) blocks: u32,
}

impl<'a> TlbName<'a> {
    pub(super) fn parse(name: &'a str) -> Option<Self> {
        let mut parts = name.split('_');
        let family = TlbFamily::named(parts.next()?)?;
        let organisation = parts.next()?;
        let blocks = parts.next()?.strip_prefix('b')?.parse().ok()?;
        Some(Self {
            family,
            organisation,
            blocks,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read() {
        let name = TlbName::parse("csb16_sa4_b256_pre").expect("a name");
        assert_eq!(name.family, TlbFamily::CompleteSubblock(4));
        assert_eq!((name.organisation, name.blocks), ("sa4", 256));
        let family = TlbFamily::named("spg64k");
        assert_eq!(family, Some(TlbFamily::Superpage(4)));
        for wrong in ["csb3_fa_b64", "fa_b64", "sp_fa", "spg0k_fa_b1", "sp_fa_64"] {
            assert_eq!(TlbName::parse(wrong), None, "{wrong}");
        }
    }
}
