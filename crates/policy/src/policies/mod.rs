//! The policies, one family in each file.

use crate::PolicyEntry;

broadleaf_units::catalogue! {
    /// All policies, in listing order.
    pub(crate) static POLICIES: PolicyEntry = [
        base_pages::ENTRY,
        freebsd::ENTRY,
        foresight::ENTRY,
        population::{GREEDY, ENTRY},
        dirty::ENTRY,
        life::ENTRY,
        thp_always::ENTRY,
        advice::ENTRY,
        two_stage::ENTRY,
        navarro::ENTRY,
        freebsd14::ENTRY,
        linux::ENTRY,
        ingens::ENTRY,
        hawkeye::ENTRY,
        fixed::ENTRY,
        asap::{ENTRY, HALF},
        online::{APPROXIMATE, ENTRY},
        offline::ENTRY,
        placed::{RANDOM, RESERVE},
        placing::ENTRY,
        fixed_by_kind::ENTRY,
        foxtrot::ENTRY,
        working_set::ENTRY,
        coloured::ENTRY,
        scattered::ENTRY,
        guest::ENTRY,
    ];
}

mod filled;
mod objects;

#[cfg(test)]
pub(crate) mod testing;

/// The policy `4k`, the baseline of all others.
pub(crate) const BASELINE: PolicyEntry = base_pages::ENTRY;
